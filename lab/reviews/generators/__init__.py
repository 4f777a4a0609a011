"""The generators, some modules a chapter. Importing a module registers its generators."""
