"""Tests on texts: what they are held against, and what can be done to a trained network in one."""
