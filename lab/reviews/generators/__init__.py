"""The generators, some modules per chapter. Importing a module registers its generators."""
