"""The namespace untraced.scipy: functions of SciPy as NumPy source."""
