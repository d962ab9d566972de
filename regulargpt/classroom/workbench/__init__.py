"""The workbench: one page in which a student draws a machine, trains a network on it, sees it proven, and breaks it."""
