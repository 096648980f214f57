/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * plugin.c: propagators, forces and monitors of the user's: a C file (plug.h says what is in it), compiled at run time.
 *
 * The file is compiled twice. Its descriptor goes into a small library of its own, as soon as the plugin is loaded. Its
 * kernel text joins that of this build: shoal_plugin_text hands out both, with the lists that name the plugins, to
 * NVRTC (jit.c), and to the system's C compiler when the CPU is to run it, with the flags of the built-in kernels and
 * for one body count. Libraries are kept in the cache under the hash of all that went into them.
 */
#define _GNU_SOURCE 1
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/kernel/compiled.h"
#include "core/plug/plugs.h"

extern char **environ;

enum { GENERATED_TEXTS = 4, MAX_TEXTS = GENERATED_TEXTS + 2 * SHOAL_MAX_PLUGINS, MAX_WORDS = 48, PATH_SIZE = 1024 };

struct shoal_plugin {
    char name[64], path[PATH_SIZE];
    char kind;                          /* 'p', 'f', 'm' */
    const shoal_propagator *propagator; /* its descriptor, if it is one */
    const shoal_monitor *monitor;       /* or one of these */
    char *text;
};

/* ---- texts ------------------------------------------------------------------------------------------------------- */

/* Lines made of the names of the plugins of a kind; malloc'd. */
static char *lines_of(const shoal_plugs *plugs, char kind, const char *format)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    for (int i = 0; plugs->plugins[i]; i++)
        if (plugs->plugins[i]->kind == kind) {
            const shoal_monitor *monitor = plugs->plugins[i]->monitor;
            fprintf(out, format, plugs->plugins[i]->name, monitor && monitor->ends_only ? "ENDS" : "BEFORE");
            putc('\n', out);
        }
    fclose(out);
    return text;
}

static void texts_release(shoal_plugs *plugs)
{
    for (int i = 0; plugs->text && plugs->text[i].name; i++) {
        free((char *)plugs->text[i].name);
        free((char *)plugs->text[i].text);
    }
    free(plugs->text);
    plugs->text = NULL;
}

static bool text_add(shoal_plugs *plugs, int *n, char *name, char *text)
{
    plugs->text[*n] = (shoal_text){name, text};
    (*n)++;
    return name && text;
}

/* A plugin's text, and behind it what compares it with its descriptor; malloc'd. */
static char *text_of(const shoal_plugin *plugin)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fprintf(out, "#line 1 \"%s\"\n%s\n#ifdef SHOAL_KERNEL\n", plugin->path, plugin->text);
    const shoal_propagator *p = plugin->propagator;
    if (p)
        fprintf(out,
                "#define DESCRIPTOR_SLOTS %d\n#define DESCRIPTOR_OWN %d\n#define DESCRIPTOR_FIRST_BODY %d\n"
                "#define DESCRIPTOR_ADAPTIVE %d\n#define DESCRIPTOR_SETS_ASIDE %d\n",
                p->n_slots, p->n_own, p->first_body, p->adaptive, p->sets_aside);
    if (plugin->monitor)
        fprintf(out, "LANE_ASSERT(%s_SLOTS == %d, \"%s_SLOTS is n_slots of the descriptor\");\n", plugin->name,
                plugin->monitor->n_slots, plugin->name);
    fputs("#endif\n", out);
    fclose(out);
    return text;
}

/* The lists, and the plugins' own texts. */
static bool texts_make(shoal_plugs *plugs)
{
    static const struct {
        const char *name;
        char kind;
        const char *format;
    } lists[GENERATED_TEXTS] = {
        {"plugins/forces.h", 'f', "FORCE(%s)"},
        {"plugins/forces.kern.h", 'f', "#include \"plugins/%s.c\""},
        {"plugins/monitors.h", 'm', "MONITOR(%s, %s)"},
        {"plugins/monitors.kern.h", 'm', "#include \"plugins/%s.c\""},
    };
    texts_release(plugs);
    plugs->text = calloc(MAX_TEXTS + 1, sizeof *plugs->text);
    bool good = plugs->text;
    int n = 0;
    for (int i = 0; good && i < GENERATED_TEXTS; i++)
        good = text_add(plugs, &n, strdup(lists[i].name), lines_of(plugs, lists[i].kind, lists[i].format));
    for (int i = 0; good && plugs->plugins[i]; i++) {
        const shoal_plugin *plugin = plugs->plugins[i];
        char *name = NULL, *text = NULL;
        if (asprintf(&name, "plugins/%s.c", plugin->name) < 0)
            return false;
        good = text_add(plugs, &n, name, text_of(plugin));
        if (!good || plugin->kind != 'p')
            continue;
        if (asprintf(&name, "integrators/%s.kern.h", plugin->name) < 0 ||
            asprintf(&text, "#include \"plugins/%s.c\"\n", plugin->name) < 0)
            return false;
        good = text_add(plugs, &n, name, text);
    }
    return good;
}

shoal_text shoal_plugin_text(const shoal_context *context, int i)
{
    int n = 0;
    while (shoal_texts[n].name)
        n++;
    if (i < n)
        return shoal_texts[i];
    return context && context->plugs ? context->plugs->text[i - n] : (shoal_text){0, 0};
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

/* A command, its words owned. */
typedef struct words {
    char *word[MAX_WORDS + 1];
    int n;
    bool full; /* one found no room, or memory is out */
} words;

/* Append one word, whatever is in it. */
static void add_word(words *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add_word(words *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (command->n < MAX_WORDS && vasprintf(&command->word[command->n], format, arguments) >= 0)
        command->n++;
    else
        command->full = true;
    va_end(arguments);
}

/* Append the words of a text that blanks part. */
static void add_words(words *command, const char *text)
{
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        const size_t length = strcspn(text, " ");
        add_word(command, "%.*s", (int)length, text);
        text += length;
    }
}

static void command_release(words *command)
{
    for (int i = 0; i < command->n; i++)
        free(command->word[i]);
    command->n = 0;
}

static const char *compiler(void)
{
    const char *cc = getenv("CC");
    return cc && *cc ? cc : "cc";
}

/* The first line of a compiler's messages that tells of an error. */
static void first_error(const char *path, char *line, size_t size)
{
    char text[512];
    FILE *log = fopen(path, "r");
    *line = '\0';
    while (log && fgets(text, sizeof text, log)) {
        text[strcspn(text, "\n")] = '\0';
        if (!*line || strstr(text, "error"))
            snprintf(line, size, "%s", text);
        if (strstr(text, "error"))
            break;
    }
    if (log)
        fclose(log);
}

/* Run a compiler; its messages go to a file in the folder. */
static shoal_status run(shoal_context *context, words *command, const char *folder, const char *what)
{
    if (command->full)
        return shoal_fail(context, SHOAL_E_INPUT, "%s: the compiler's command has more than %d words (CC = %.200s)",
                          what, MAX_WORDS, compiler());
    char log[PATH_SIZE + 16], line[512];
    posix_spawn_file_actions_t files;
    pid_t child;
    int outcome = -1;
    snprintf(log, sizeof log, "%s/messages", folder);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    const int error = posix_spawnp(&child, command->word[0], &files, NULL, command->word, environ);
    posix_spawn_file_actions_destroy(&files);
    if (error)
        return shoal_fail(context, SHOAL_E_UNSUPPORTED, "%s: no C compiler: %s: %s (the variable CC names one)", what,
                          command->word[0], strerror(error));
    while (waitpid(child, &outcome, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0)
        return SHOAL_OK;
    first_error(log, line, sizeof line);
    return shoal_fail(context, SHOAL_E_INPUT, "%s does not compile: %s", what, line);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status, (void)type, (void)where;
    return remove(path);
}

/* A private folder to work in, and the place of the library: in the cache if there is one. */
static shoal_status begin_work(shoal_context *context, shoal_hash key, char *work, char *library)
{
    char cache[512];
    const char *temporary = getenv("TMPDIR");
    const bool kept = shoal_cache_folder(cache, sizeof cache, true);
    snprintf(work, PATH_SIZE, "%s/plugin-XXXXXX", kept ? cache : temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(work))
        return shoal_fail(context, SHOAL_E_FILE, "%s: cannot make a folder to compile a plugin in: %s", work,
                          strerror(errno));
    snprintf(library, PATH_SIZE + 48, "%s/%016llx%016llx.so", kept ? cache : work, (unsigned long long)key.a,
             (unsigned long long)key.b);
    return SHOAL_OK;
}

/* Write a text to folder/name, making the folder that the name has. */
static bool write_text(const char *folder, const char *name, const char *text)
{
    char path[PATH_SIZE + 128];
    for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(path, sizeof path, "%s/%.*s", folder, (int)(slash - name), name);
        (void)mkdir(path, 0700);
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return false;
    const bool good = shoal_write_all(file, text, strlen(text));
    return close(file) == 0 && good;
}

/*
 * Compile a library, or take it from the cache, and open it for good (its code is used by objects of any lifetime).
 *   begin   in  the command up to its input and output files, released here
 *   input   in  the file to compile, relative to the folder of the texts, or from the root
 *   own     in  its text, if it is none of the texts, else ""
 */
static shoal_status library_open(shoal_context *context, words *begin, const char *input, const char *own,
                                 const char *what, void **opened)
{
    char work[PATH_SIZE], library[PATH_SIZE + 48], made[PATH_SIZE + 16];
    shoal_text text;
    shoal_hash key = shoal_hash_start();
    for (int i = 0; (text = shoal_plugin_text(context, i)).name; i++) {
        shoal_hash_string(&key, text.name);
        shoal_hash_string(&key, text.text);
    }
    for (int i = 0; i < begin->n; i++)
        shoal_hash_string(&key, begin->word[i]);
    shoal_hash_string(&key, input);
    shoal_hash_string(&key, own);
    *opened = NULL;
    shoal_status status = begin_work(context, key, work, library);
    if (status)
        goto done;
    if (access(library, R_OK) != 0) {
        bool good = true;
        for (int i = 0; good && (text = shoal_plugin_text(context, i)).name; i++)
            good = write_text(work, text.name, text.text);
        if (!good) {
            status = shoal_fail(context, SHOAL_E_FILE, "%s: writing the kernel text failed: %s", work, strerror(errno));
            goto done_folder;
        }
        snprintf(made, sizeof made, "%s/made.so", work);
        add_word(begin, "-I%s/core/plug", work);
        add_word(begin, "-I%s", work);
        add_word(begin, "-o");
        add_word(begin, "%s", made);
        add_word(begin, "%s%s%s", *input == '/' ? "" : work, *input == '/' ? "" : "/", input);
        add_word(begin, "-lm");
        status = run(context, begin, work, what);
        if (!status && rename(made, library) != 0)
            status = shoal_fail(context, SHOAL_E_FILE, "%s: %s", library, strerror(errno));
    }
    if (!status) {
        *opened = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (!*opened)
            status = shoal_fail(context, SHOAL_E_INPUT, "%s cannot be loaded: %s", what, dlerror());
    }
done_folder:
    nftw(work, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
done:
    command_release(begin);
    return status;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* Put a descriptor behind the last of its list; false if the list is full. */
static bool list_add(const void **list, int most, const void *descriptor)
{
    int n = 0;
    while (list[n])
        n++;
    if (n == most)
        return false;
    list[n] = descriptor;
    return true;
}

/* The descriptor of a plugin in its library joins its list; false, and why = [SHOAL_MESSAGE_SIZE] what was expected. */
static bool take_descriptor(shoal_plugs *plugs, shoal_plugin *plugin, void *library, shoal_plug_check *check, char *why)
{
    char symbol[96];
    snprintf(symbol, sizeof symbol, "shoal_propagator_%s", plugin->name);
    const shoal_propagator *propagator = dlsym(library, symbol);
    snprintf(symbol, sizeof symbol, "shoal_force_%s", plugin->name);
    const shoal_force *force = dlsym(library, symbol);
    snprintf(symbol, sizeof symbol, "shoal_monitor_%s", plugin->name);
    const shoal_monitor *monitor = dlsym(library, symbol);
    snprintf(why, SHOAL_MESSAGE_SIZE,
             "one descriptor, shoal_propagator_NAME, shoal_force_NAME or shoal_monitor_NAME, NAME being the file's");
    if (!!propagator + !!force + !!monitor != 1)
        return false;
    const char *name = propagator ? propagator->name : force ? force->name : monitor->name;
    snprintf(why, SHOAL_MESSAGE_SIZE, "a descriptor with the file's name");
    if (!name || strcmp(name, plugin->name) != 0)
        return false;
    plugin->kind = propagator ? 'p' : force ? 'f' : 'm';
    plugin->propagator = propagator;
    plugin->monitor = monitor;
    if (!check(plugs, propagator, force, monitor, why))
        return false;
    snprintf(why, SHOAL_MESSAGE_SIZE, "at most %d %s, with those of this program",
             propagator ? SHOAL_MAX_PROPAGATORS
             : force    ? SHOAL_MAX_FORCE_KINDS
                        : SHOAL_MAX_MONITORS,
             propagator ? "propagators"
             : force    ? "forces"
                        : "monitors");
    return propagator ? list_add((const void **)plugs->propagators, SHOAL_MAX_PROPAGATORS, propagator)
           : force    ? list_add((const void **)plugs->forces, SHOAL_MAX_FORCE_KINDS, force)
                      : list_add((const void **)plugs->monitors, SHOAL_MAX_MONITORS, monitor);
}

/* long: the way of a plugin from its path into the lists, and what is undone where it ends early */
shoal_status shoal_plugin_add(shoal_context *context, const char *path, shoal_plug_check *check)
{
    if (!context || !path)
        return shoal_fail(context, SHOAL_E_USAGE, "a plugin needs a context and a path");
    char full[PATH_SIZE], name[64], what[PATH_SIZE + 16];
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    const size_t length = strlen(base);
    snprintf(name, sizeof name, "%.*s", length > 2 ? (int)length - 2 : 0, base);
    if (length < 3 || length > 40 || strcmp(base + length - 2, ".c") != 0 || !shoal_is_identifier(name))
        return shoal_fail(context, SHOAL_E_INPUT, "plugin '%s': expected a C file whose name is an identifier: NAME.c",
                          path);
    if (!realpath(path, full))
        return shoal_fail(context, SHOAL_E_FILE, "plugin '%s': %s", path, strerror(errno));
    snprintf(what, sizeof what, "plugin '%s'", path);

    shoal_plugs *grown = NULL;
    void *library = NULL;
    words command = {.n = 0};
    shoal_status status = SHOAL_E_MEMORY;
    shoal_plugin *plugin = calloc(1, sizeof *plugin);
    if (!plugin)
        goto fail;
    snprintf(plugin->name, sizeof plugin->name, "%s", name);
    snprintf(plugin->path, sizeof plugin->path, "%s", full);
    plugin->text = shoal_read_text(full);
    if (!plugin->text) {
        status = shoal_fail(context, SHOAL_E_FILE, "plugin '%s': cannot be read%s", path,
                            shoal_not_a_file(full) ? ": it is a pipe or a device, not a file" : "");
        goto fail;
    }
    int n = 0;
    for (; context->plugs && context->plugs->plugins[n]; n++)
        if (strcmp(context->plugs->plugins[n]->name, name) == 0 &&
            strcmp(context->plugs->plugins[n]->text, plugin->text) == 0) {
            status = SHOAL_OK; /* it is there already */
            goto fail;
        }
    if (n == SHOAL_MAX_PLUGINS || shoal_propagator_find(context, name) || shoal_monitor_find(context, name) >= 0 ||
        shoal_force_find(context, name) >= 0) {
        status = n == SHOAL_MAX_PLUGINS
                     ? shoal_fail(context, SHOAL_E_INPUT, "plugin '%s': expected at most %d plugins", path, n)
                     : shoal_fail(context, SHOAL_E_INPUT, "plugin '%s': expected a name that no other plug has", path);
        goto fail;
    }
    add_words(&command, compiler());
    add_words(&command, "-std=gnu11 -O2 -fPIC -shared");
    status = library_open(context, &command, full, plugin->text, what, &library);
    if (status)
        goto fail;
    grown = malloc(sizeof *grown);
    if (!grown) {
        status = SHOAL_E_MEMORY;
        goto fail;
    }
    *grown = *shoal_plugs_of(context);
    grown->text = NULL;
    char why[SHOAL_MESSAGE_SIZE];
    const bool taken = take_descriptor(grown, plugin, library, check, why);
    dlclose(library);
    if (!taken) {
        status = shoal_fail(context, SHOAL_E_INPUT, "plugin '%s': expected %s", path, why);
        goto fail;
    }
    grown->plugins[n] = plugin;
    grown->plugins[n + 1] = NULL;
    if (!texts_make(grown)) {
        texts_release(grown);
        status = SHOAL_E_MEMORY;
        goto fail;
    }
    if (context->plugs) {
        texts_release(context->plugs);
        free(context->plugs);
    }
    context->plugs = grown;
    return SHOAL_OK;
fail:
    if (status == SHOAL_E_MEMORY)
        shoal_fail(context, status, "plugin '%s': out of memory", path);
    free(grown);
    if (plugin)
        free(plugin->text);
    free(plugin);
    return status;
}

void shoal_plugins_release(shoal_context *context)
{
    if (!context->plugs)
        return;
    for (int i = 0; context->plugs->plugins[i]; i++) {
        free(context->plugs->plugins[i]->text);
        free(context->plugs->plugins[i]);
    }
    texts_release(context->plugs);
    free(context->plugs);
    context->plugs = NULL;
}

void shoal_plugins_describe(const shoal_context *context, FILE *out)
{
    for (int i = 0; context && context->plugs && context->plugs->plugins[i]; i++) {
        shoal_hash hash = shoal_hash_start();
        shoal_hash_string(&hash, context->plugs->plugins[i]->text);
        fprintf(out, "# plugin %s %016llx%016llx\n", context->plugs->plugins[i]->name, (unsigned long long)hash.a,
                (unsigned long long)hash.b);
    }
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

int shoal_plugin_bits(const shoal_context *context, char kind)
{
    int n = 0, n_builtin = 0;
    if (kind == 'm') {
        n = shoal_count((const void *const *)shoal_plugs_of(context)->monitors);
        n_builtin = shoal_count((const void *const *)shoal_plugs_of(NULL)->monitors);
    } else {
        n = shoal_count((const void *const *)shoal_plugs_of(context)->forces);
        n_builtin = shoal_count((const void *const *)shoal_plugs_of(NULL)->forces);
    }
    return (int)((1u << n) - (1u << n_builtin));
}

bool shoal_plugin_is(const shoal_context *context, const shoal_propagator *propagator)
{
    const shoal_plugs *plugs = shoal_plugs_of(context);
    for (int i = shoal_count((const void *const *)shoal_plugs_of(NULL)->propagators); plugs->propagators[i]; i++)
        if (plugs->propagators[i] == propagator)
            return true;
    return false;
}

shoal_status shoal_plugin_kernels(shoal_context *context, const shoal_kernel_choice *choice, const char *arch,
                                  int lanes, const shoal_cpu_kernels **kernels)
{
    words command = {.n = 0};
    void *library = NULL;
    const char *flags = strcmp(arch, "v4") == 0 ? SHOAL_FLAGS_V4 : strcmp(arch, "v3") == 0 ? SHOAL_FLAGS_V3 : "";
    add_words(&command, compiler());
    add_words(&command, SHOAL_KERNEL_FLAGS);
    add_words(&command, flags);
    add_words(&command, "-O2 -w -shared -DSHOAL_PLUGINS -DSHOAL_KERNELS=shoal_plugin_kernels");
    add_word(&command, "-DSHOAL_ARCH=%s", arch);
    add_word(&command, "-DLANES=%d", lanes);
    add_word(&command, "-DPROPAGATOR=%s", choice->propagator->name);
    if (choice->n_bodies <= 9 && choice->form == SHOAL_FORM_PAIRS)
        add_word(&command, "-DN_BODIES=%d", choice->n_bodies);
    shoal_status status = library_open(context, &command, "core/engine/kernel_cpu.c", "",
                                       "the kernel text with its plugins", &library);
    if (status)
        return status;
    *kernels = dlsym(library, "shoal_plugin_kernels");
    dlclose(library);
    return *kernels ? SHOAL_OK : shoal_fail(context, SHOAL_E_INTERNAL, "no kernels in the library of the plugins");
}
