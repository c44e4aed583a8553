import CarillonABI
import Foundation
import PluginProtocol
import Push

/// A transport that a plugin offers, with every required function present.
package struct TransportEntry: Sendable {
    package let platform: String
    /// The platform's description; nil: the plugin has none, or one in a version of the format that is newer than this
    /// host.
    package let description: PlatformDescription?
    /// The description as the plugin gave it.
    package let document: String?
    /// Whether it encrypts notifications itself (`CARILLON_TRANSPORT_ENCRYPTS`).
    let encrypts: Bool
    /// Whether a person sees every push that it delivers (`CARILLON_TRANSPORT_SHOWS`).
    let shows: Bool
    package let functions: DescriptorMessage.Functions
    /// The maximum number of deliveries that `deliver_many` takes; 0: not supported.
    package let manyLimit: Int
    /// Whether all deliveries of a batch must have one token (`CARILLON_TRANSPORT_MANY_PER_TOKEN`).
    package let manyPerToken: Bool

    init(_ transport: DescriptorMessage.Transport) throws(PluginLoadError.Reason) {
        guard PluginText.isWord(transport.platform) else {
            throw .badDescriptor("a platform's name must be 1 to 64 of a-z, 0-9, \"-\" and \"_\"")
        }
        platform = transport.platform
        let owner = "transport \(platform)"
        try transport.functions.require([(.create, "create"), (.destroy, "destroy"), (.deliver, "deliver")], of: owner)
        document = try Self.document(transport)
        description = try document.flatMap { text throws(PluginLoadError.Reason) in
            try Self.description(text, of: transport.platform)
        }
        encrypts = transport.flags & UInt32(CARILLON_TRANSPORT_ENCRYPTS) != 0
        shows = transport.flags & UInt32(CARILLON_TRANSPORT_SHOWS) != 0
        let limit = transport.manyLimit
        guard limit == 0 || (2...UInt32(DeliverManyMessage.countLimit)).contains(limit) else {
            throw .badDescriptor("deliver_many_limit of \(owner) is neither 0 nor 2 to 1000")
        }
        if limit > 0 { try transport.functions.require([(.deliverMany, "deliver_many")], of: owner) }
        functions = transport.functions
        manyLimit = Int(limit)
        manyPerToken = transport.flags & UInt32(CARILLON_TRANSPORT_MANY_PER_TOKEN) != 0
    }

    private static func document(_ transport: DescriptorMessage.Transport) throws(PluginLoadError.Reason) -> String? {
        guard transport.document.utf8.count <= PlatformDescription.limit else {
            throw .badDescription(
                "expected at most \(PlatformDescription.limit) bytes of UTF-8",
                of: transport.platform
            )
        }
        return transport.document.isEmpty ? nil : transport.document
    }

    private static func description(
        _ document: String,
        of platform: String
    ) throws(PluginLoadError.Reason) -> PlatformDescription? {
        guard !isNewer(document) else { return nil }
        do {
            return try PlatformDescription(parsing: document)
        } catch {
            throw .badDescription(PluginText.printable("\(error)"), of: platform)
        }
    }

    /// Whether a document's version of the format is newer than this host's.
    private static func isNewer(_ document: String) -> Bool {
        struct Version: Decodable {
            let version: Int
        }
        let version = try? JSONDecoder().decode(Version.self, from: Data(document.utf8)).version
        return version.map { $0 > PlatformDescription.version } ?? false
    }
}

/// A filter that a plugin offers, with every required function present.
package struct FilterEntry: Sendable {
    private static let kindLimit = 16
    /// All known flags.
    package static let flags = UInt32(
        CARILLON_FILTER_RENDERED | CARILLON_FILTER_ASKS_DISTANCE | CARILLON_FILTER_ASKS_FOLLOWED
    )

    package let name: String
    package let wantedKinds: [UInt16]
    /// The maximum that an instance may need to know about the recipient's follows.
    package let maxNeeded: FollowNeed
    package let isAskedAfterRendering: Bool
    package let functions: DescriptorMessage.Functions

    init(_ filter: DescriptorMessage.Filter) throws(PluginLoadError.Reason) {
        guard PluginText.isWord(filter.name) else {
            throw .badDescriptor("a filter's name must be 1 to 64 of a-z, 0-9, \"-\" and \"_\"")
        }
        name = filter.name
        let owner = "filter \(name)"
        try filter.functions.require([(.create, "create"), (.destroy, "destroy"), (.decide, "decide")], of: owner)
        wantedKinds = try Self.kinds(filter.kinds, of: owner)
        maxNeeded = Self.need(filter.flags)
        isAskedAfterRendering = filter.flags & UInt32(CARILLON_FILTER_RENDERED) != 0
        functions = filter.functions
    }

    package static func need(_ flags: UInt32) -> FollowNeed {
        if flags & UInt32(CARILLON_FILTER_ASKS_DISTANCE) != 0 { return .distance }
        return flags & UInt32(CARILLON_FILTER_ASKS_FOLLOWED) != 0 ? .followed : .nothing
    }

    private static func kinds(_ kinds: [UInt32], of owner: String) throws(PluginLoadError.Reason) -> [UInt16] {
        guard kinds.count <= kindLimit else {
            throw .badDescriptor("\(owner) wants more than \(kindLimit) kinds, or wanted_kinds is NULL")
        }
        if let strange = kinds.first(where: { !isReplaceable($0) }) {
            throw .badDescriptor(
                "\(owner) wants kind \(strange), which is not replaceable: expected 0, 3 or 10000 to 19999"
            )
        }
        return Set(kinds.map { UInt16(clamping: $0) }).sorted()
    }

    /// Whether an author has only one event of `kind` (NIP-01).
    private static func isReplaceable(_ kind: UInt32) -> Bool {
        kind == 0 || kind == 3 || (10_000..<20_000).contains(kind)
    }
}

extension DescriptorMessage.Functions {
    /// Throws for the first missing function.
    fileprivate func require(
        _ required: [(function: Self, name: String)],
        of owner: String
    ) throws(PluginLoadError.Reason) {
        for (function, name) in required where !contains(function) { throw .missingFunction(name, of: owner) }
    }
}

/// A plugin's checked descriptor.
package struct PluginDescriptor: Sendable {
    package let id: String
    package let version: String
    package let abiMinor: UInt32
    package let transports: [TransportEntry]
    package let filters: [FilterEntry]

    /// Checks a descriptor from a plugin's process, or from a library.
    package init(_ message: DescriptorMessage) throws(PluginLoadError.Reason) {
        guard PluginText.isName(message.id, limit: 128) else {
            throw .badDescriptor("id must be 1 to 128 bytes of printable UTF-8")
        }
        guard PluginText.isName(message.version, limit: 64) else {
            throw .badDescriptor("version must be 1 to 64 bytes of printable UTF-8")
        }
        id = message.id
        version = message.version
        abiMinor = message.abiMinor
        transports = try message.transports.map { transport throws(PluginLoadError.Reason) in
            try TransportEntry(transport)
        }
        filters = try message.filters.map { filter throws(PluginLoadError.Reason) in try FilterEntry(filter) }
        guard !transports.isEmpty || !filters.isEmpty else {
            throw .badDescriptor("it offers neither a transport nor a filter")
        }
    }

    /// The descriptions of the platforms that the plugin describes.
    package var descriptions: [String: PlatformDescription] {
        // Loading refuses a plugin that names a platform twice.
        Dictionary(transports.compactMap { entry in entry.description.map { (entry.platform, $0) } }) { first, _ in
            first
        }
    }
}
