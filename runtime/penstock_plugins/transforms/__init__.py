"""Built-in transforms, one module each. Modules with a leading underscore hold parts of them."""
