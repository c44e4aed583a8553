import NIOConcurrencyHelpers

/// The origins of the latest URLs: most requests go to few, and a URL's origin takes longer to read than the rest of
/// it.
final class KnownOrigins: Sendable {
    private struct Entry {
        /// Scheme and authority as they were written.
        let text: [UInt8]
        let origin: Origin
    }

    /// Looked through one by one.
    private static let limit = 8

    private let entries = NIOLockedValueBox<[Entry]>([])

    /// The parts of `url`, as ``URLParts/init(_:)`` reads them.
    func parts(of url: String) -> URLParts? {
        var url = url
        if let known = url.withUTF8({ origin(of: $0) }),
            let parts = URLParts(known.origin, of: url, endingAt: known.end)
        {
            return parts
        }
        guard let parts = URLParts(url) else { return nil }
        url.withUTF8 { remember(parts.origin, of: $0) }
        return parts
    }

    /// The origin that `url` begins with, if it is known, and where it ends: an authority is over at the first slash.
    private func origin(of url: UnsafeBufferPointer<UInt8>) -> (origin: Origin, end: Int)? {
        guard url.count <= URLParts.maximumLength else { return nil }
        return entries.withLockedValue { entries in
            for entry in entries {
                let end = entry.text.count
                guard url.count > end, url[end] == UInt8(ascii: "/"),
                    entry.text.withUnsafeBufferPointer({ $0.equals(UnsafeBufferPointer(rebasing: url[..<end])) })
                else { continue }
                return (entry.origin, end)
            }
            return nil
        }
    }

    private func remember(_ origin: Origin, of url: UnsafeBufferPointer<UInt8>) {
        let start = origin.isSecure ? 8 : 7
        guard let end = url[start...].firstIndex(of: UInt8(ascii: "/")) else { return }
        let text = Array(url[..<end])
        // What stands before the slash may be more than the authority: a query can begin without a path.
        guard !text.contains(UInt8(ascii: "?")), !text.contains(UInt8(ascii: "#")) else { return }
        entries.withLockedValue { entries in
            guard !entries.contains(where: { $0.text == text }) else { return }
            if entries.count == Self.limit { entries.removeLast() }
            entries.insert(Entry(text: text, origin: origin), at: 0)
        }
    }
}
