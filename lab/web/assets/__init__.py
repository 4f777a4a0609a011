"""The page's files: modules, stylesheets and vendored libraries, and how they are served."""
