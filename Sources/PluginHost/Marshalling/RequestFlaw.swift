import CarillonABI

/// What is wrong with a plugin's request; the text names the field and never its value.
struct RequestFlaw: Error {
    let status: carillon_status
    let text: String

    init(_ status: carillon_status, _ text: String) {
        self.status = status
        self.text = text
    }
}
