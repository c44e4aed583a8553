/// Why a text cannot be a template.
struct TemplateError: Error {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}
