/// A sentence for people about what went wrong.
struct Problem: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
