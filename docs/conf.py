# SPDX-License-Identifier: GPL-3.0-or-later
"""The site (`make site`): the pages of this folder, the notebooks, and the Python package from its docstrings."""

import shoal

project = "Shoal"
version = release = shoal.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"
html_theme = "furo"
html_title = "Shoal"
html_show_sourcelink = False
html_show_copyright = False
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "separated"
# Links to sources lead out of the site; blocks of configs and shells are no language that is known.
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure", "myst.header"]
