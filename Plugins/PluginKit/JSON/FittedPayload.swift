/// Builds a JSON payload of a notification that has to fit into a push service's limit: what is too long loses the end
/// of its body first, then the end of its title, always between two characters.
public enum FittedPayload {
    /// How many bytes of JSON the texts may become, without quotes; nil: any number.
    public struct Limits: Sendable {
        public var title: Int?
        public var body: Int?
    }

    /// How many bytes of JSON the texts became; 0 for one that the payload does not hold.
    public struct Lengths: Sendable {
        public var title: Int
        public var body: Int

        public init(title: Int = 0, body: Int = 0) {
            self.title = title
            self.body = body
        }
    }

    /// A title shorter than one character and `…` says nothing.
    private static let shortestTitle = 4

    /// Calls `write` up to three times; nil when the payload does not fit even so.
    public static func make(
        limit: Int,
        _ write: (inout JSONWriter, Limits) -> Lengths
    ) -> [UInt8]? {
        var limits = Limits()
        let (payload, lengths) = attempt(limits, write)
        if payload.count <= limit {
            return payload
        }
        limits.body = max(0, lengths.body - (payload.count - limit))
        let (withShortBody, _) = attempt(limits, write)
        if withShortBody.count <= limit {
            return withShortBody
        }
        limits.title = lengths.title - (withShortBody.count - limit)
        guard let title = limits.title, title >= shortestTitle else { return nil }
        let (withShortTitle, _) = attempt(limits, write)
        return withShortTitle.count <= limit ? withShortTitle : nil
    }

    private static func attempt(
        _ limits: Limits,
        _ write: (inout JSONWriter, Limits) -> Lengths
    ) -> ([UInt8], Lengths) {
        var writer = JSONWriter()
        let lengths = write(&writer, limits)
        return (writer.bytes, lengths)
    }
}
