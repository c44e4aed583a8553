/// What kind of place a text goes to, and so what a stranger's text must not hold when it is put in there.
enum TextPlace: Sendable {
    /// Shown in one line: titles, labels, most of what stands in a platform's block.
    case line
    /// Shown with line breaks and tabs: bodies.
    case paragraph
    /// Compared by programs: categories, threads, collapse keys, ids, icons.
    case identifier
    /// Part of a URL: what is put in cannot end the part it stands in.
    case url
    /// A URL of which nothing is the operator's own: schemes that anybody may name, and nothing that is no URL.
    case wholeURL

    var isMultiline: Bool { self == .paragraph }

    var isForPeople: Bool { self == .line || self == .paragraph }

    /// In bytes: more than any identifier that is compared.
    static let identifierLimit = 256

    /// `text`, which is neutral already, as it goes into such a place.
    func put(_ text: String) -> String {
        switch self {
        case .line, .paragraph: text
        case .identifier: String(text.beginning(Self.identifierLimit, bytes: Self.identifierLimit))
        case .url: URLText.part(text)
        case .wholeURL: URLText.whole(text)
        }
    }
}
