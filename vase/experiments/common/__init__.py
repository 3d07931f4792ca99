"""Conditions, tables and figures that experiments share."""
