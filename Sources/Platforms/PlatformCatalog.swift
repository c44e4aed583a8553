/// What all loaded transports say about their platforms. A platform without a description is not in it.
package struct PlatformCatalog: Sendable, Hashable {
    private let descriptions: [String: PlatformDescription]

    /// By platform name, such as `ios`.
    package init(_ descriptions: [String: PlatformDescription] = [:]) {
        self.descriptions = descriptions
    }

    package subscript(platform: String) -> PlatformDescription? { descriptions[platform] }

    /// The platforms' names, sorted.
    package var platforms: [String] { descriptions.keys.sorted() }

    /// The platform whose block rules write under that key.
    package func platform(ofBlock block: String) -> String? {
        platforms.first { descriptions[$0]?.block == block }
    }

    /// The rule keys that hold platforms' blocks, each with its platform, sorted by platform. Of two platforms with one
    /// key the first has it.
    package var blocks: [(key: String, platform: String)] {
        var keys: Set<String> = []
        return platforms.compactMap { platform in
            guard let key = descriptions[platform]?.block, keys.insert(key).inserted else { return nil }
            return (key, platform)
        }
    }

    /// The only platform that can serve the sealed ingress; nil where there are none or several.
    package var onlyIngressPlatform: String? {
        let platforms = platforms.filter { descriptions[$0]?.ingress != nil }
        return platforms.count == 1 ? platforms[0] : nil
    }

    /// Keys of payloads that a rule's `data` may not have, each with what to say about it.
    package var reservedData: [String: String] {
        descriptions.values.reduce(into: [:]) { $0.merge($1.reservedData) { first, _ in first } }
    }

    /// How many silent pushes a device gets in an hour, by platform; others get as many as of anything else.
    package var silentPushesPerHour: [String: Int] {
        descriptions.compactMapValues(\.pushes.silentPerHour)
    }
}
