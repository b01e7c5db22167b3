package export

// CheckFormat reports whether Open would know the format, without opening anything.
func CheckFormat(path, format string) error {
	_, err := formatOf(path, format)
	return err
}
