"""Measures: codes and factors, or rows, in; numbers out."""
