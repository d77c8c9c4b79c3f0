"""What transforms of structs and maps share: paths and names of fields, copies, changes."""
