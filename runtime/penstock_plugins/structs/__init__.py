"""What the transforms of structs and maps share: field paths, field names, copies of structs, changed fields."""
