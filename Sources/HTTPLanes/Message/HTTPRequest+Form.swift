extension HTTPRequest {
    /// Whether method and headers can be written into a message without changing its shape.
    package var isWellFormed: Bool { headers.isWellFormed && FieldForm.isMethod(method) }
}
