/// Which hosts messages may go to: `push.example.com`, or `*.example.com` for everything below `example.com`.
struct HostPattern: Sendable {
    /// With a dot in front where it stands for what is below it.
    private let name: Substring
    private let isSuffix: Bool

    /// Nil when `text` is no such pattern.
    init?(_ text: String) {
        let lowercased = text.lowercased()
        isSuffix = lowercased.hasPrefix("*.")
        name = isSuffix ? lowercased.dropFirst() : lowercased[...]
        let labels = (isSuffix ? name.dropFirst() : name).split(separator: ".", omittingEmptySubsequences: false)
        guard name.utf8.count <= 253, labels.allSatisfy(Self.isLabel) else { return nil }
    }

    /// `host` is in lower case.
    func matches(_ host: String) -> Bool {
        isSuffix ? host.utf8.count > name.utf8.count && host.hasSuffix(name) : host[...] == name
    }

    private static func isLabel(_ label: Substring) -> Bool {
        !label.isEmpty
            && label.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}
