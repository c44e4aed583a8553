import Core
import JSON

/// What a transport says about its platform: the document behind `describe` of the plugin ABI. The core knows platforms
/// by nothing else.
package struct PlatformDescription: Sendable, Hashable {
    /// The version of the format that this host reads.
    package static let version = 1
    /// In bytes of UTF-8.
    package static let limit = 262_144

    /// For people, such as `Apple Push Notification service`.
    package let name: String
    /// The rule key whose block is for this platform; nil: rules say `native: {<platform>: …}`.
    package let block: String?
    /// One sentence on the rule block.
    package let doc: String
    package let target: PushTargetDescription
    /// What a registration may say beside its target.
    package let fields: [RegistrationField]
    package let configuration: PlatformConfiguration
    /// The rule block.
    package let rules: ObjectSchema
    /// What the built-in rules say in the block; nil: nothing.
    package let defaultBlock: JSONValue?
    /// Keys of the payload that a rule's `data` may not have, each with what to say about it.
    package let reservedData: [String: String]
    /// Where texts go that the app has itself, by the rule's key.
    package let texts: [LocalizedText]
    package let pushes: PushKinds
    package let presentation: [PresentationKey]
    /// Whether people see wake-ups, and the keys of ``presentation`` say how.
    package let showsWakeUps: Bool
    package let batch: SummaryBlock?
    package let limits: PushLimits
    /// Parts of a notification that the service has no place for, such as `subtitle`.
    package let cannot: [String]
    /// What a push of the sealed ingress is; nil: the platform cannot serve it.
    package let ingress: IngressDescription?
    package let sample: PlatformSample

    /// Reads a document. Members that this version does not know are ignored.
    package init(parsing text: String) throws(PlatformDescriptionError) {
        try self.init(parsing: text, unknown: DescriptionReader.UnknownMembers())
    }

    /// The JSON pointers of the members of a document that this version does not know: mistakes, to `plugin check`.
    package static func unknownMembers(in text: String) -> [String] {
        let unknown = DescriptionReader.UnknownMembers()
        _ = try? PlatformDescription(parsing: text, unknown: unknown)
        return unknown.pointers
    }

    private init(parsing text: String, unknown: DescriptionReader.UnknownMembers) throws(PlatformDescriptionError) {
        guard text.utf8.count <= Self.limit else {
            throw PlatformDescriptionError(pointer: "", message: "expected at most \(Self.limit) bytes")
        }
        do {
            try self.init(DescriptionReader(JSONValue(parsing: text), unknown: unknown))
        } catch let error as PlatformDescriptionError {
            throw error
        } catch {
            throw PlatformDescriptionError(pointer: "", message: "not JSON: \(error)")
        }
    }

    private init(_ reader: DescriptionReader) throws {
        let members = try reader.members(
            "$schema",
            "version",
            "name",
            "block",
            "doc",
            "target",
            "fields",
            "configuration",
            "rules",
            "default_block",
            "reserved_data",
            "texts",
            "pushes",
            "presentation",
            "shows_wake_ups",
            "batch",
            "limits",
            "cannot",
            "ingress",
            "sample"
        )
        let version = try members.required("version", of: reader)
        guard try version.integer() == Self.version else {
            throw version.error("this Carillon reads version \(Self.version)")
        }
        name = try members.required("name", of: reader).text()
        block = try members["block"]?.word()
        doc = try members["doc"]?.text() ?? ""
        target = try PushTargetDescription(members.required("target", of: reader))
        fields = try members["fields"]?.list().map { try RegistrationField($0) } ?? []
        configuration = try PlatformConfiguration(members["configuration"])
        rules = try members["rules"].map { try ObjectSchema($0) } ?? .open
        defaultBlock = members["default_block"]?.value
        reservedData = try Dictionary(
            members["reserved_data"]?.members().map { ($0.name, try $0.value.text()) } ?? []
        ) { first, _ in first }
        texts = try members["texts"]?.members().map { try LocalizedText($0, $1) } ?? []
        pushes = try members["pushes"].map { try PushKinds($0) } ?? PushKinds()
        presentation = try members["presentation"]?.list().map { try PresentationKey($0) } ?? []
        showsWakeUps = try members["shows_wake_ups"]?.flag() ?? false
        batch = try members["batch"].map { try SummaryBlock($0) }
        limits = try PushLimits(members["limits"])
        cannot = try members["cannot"]?.texts() ?? []
        ingress = try members["ingress"].map { try IngressDescription($0) }
        sample = try PlatformSample(members["sample"])
    }
}

/// How a registration says where its pushes go.
package struct PushTargetDescription: Hashable, Sendable {
    package enum Kind: String, CaseIterable, Hashable, Sendable {
        /// The registration's `token`.
        case token
        /// `push_endpoint`, or `subscription.endpoint`; keys may be given.
        case endpoint
        /// An endpoint with the keys `p256dh` and `auth`.
        case subscription
    }

    package let kind: Kind
    /// What a token looks like; nil: like any text.
    package let pattern: TextPattern?
    /// What to tell a client whose token is missing or does not match.
    package let expected: String
    /// Whether people choose it themselves, so that others can guess it.
    package let isChosen: Bool

    init(_ reader: DescriptionReader) throws {
        let members = try reader.members("kind", "pattern", "expected", "chosen")
        kind = try members.required("kind", of: reader).choice(Kind.self)
        expected = try members["expected"]?.text() ?? "the device token that the platform handed out"
        pattern = try members["pattern"]?.pattern(expected: expected)
        isChosen = try members["chosen"]?.flag() ?? false
    }
}

/// A field of a registration beside its target.
package struct RegistrationField: Hashable, Sendable {
    package let name: String
    package let isRequired: Bool
    package let isSecret: Bool
    package let pattern: TextPattern?
    package let doc: String
    /// The kind of push that needs it; nil: any.
    package let purpose: String?

    init(_ reader: DescriptionReader) throws {
        let members = try reader.members("name", "required", "secret", "pattern", "expected", "doc", "for")
        name = try members.required("name", of: reader).text()
        isRequired = try members["required"]?.flag() ?? false
        isSecret = try members["secret"]?.flag() ?? true
        pattern = try members["pattern"]?.pattern(expected: members["expected"]?.text())
        doc = try members["doc"]?.text() ?? ""
        purpose = try members["for"]?.text()
    }
}

/// A platform's block in the configuration.
package struct PlatformConfiguration: Hashable, Sendable {
    /// One sentence on the block.
    package let doc: String
    package let schema: ObjectSchema
    /// Environment variables that say it all, for the sealed ingress alone.
    package let environment: [Variable]

    package struct Variable: Hashable, Sendable {
        package let name: String
        /// The key of the block that it stands for.
        package let key: String
        package let doc: String
        package let isRequired: Bool
        /// Whether `\n` in it stands for the end of a line.
        package let hasEscapedNewlines: Bool
        /// Whether nobody else uses it, so that its presence says that this platform is meant.
        package let isDistinctive: Bool
    }

    init(_ reader: DescriptionReader?) throws {
        let members = try reader?.members("doc", "schema", "environment")
        doc = try members?["doc"]?.text() ?? ""
        schema = try members?["schema"].map { try ObjectSchema($0, namingFiles: true) } ?? .open
        environment =
            try members?["environment"]?.members().map { name, reader in
                let members = try reader.members("key", "doc", "required", "newlines", "distinctive")
                return Variable(
                    name: name,
                    key: try members.required("key", of: reader).text(),
                    doc: try members["doc"]?.text() ?? "",
                    isRequired: try members["required"]?.flag() ?? false,
                    hasEscapedNewlines: try members["newlines"]?.flag() ?? false,
                    isDistinctive: try members["distinctive"]?.flag() ?? false
                )
            } ?? []
    }
}

/// Where the name of a text that the app has itself goes in the block.
package struct LocalizedText: Hashable, Sendable {
    /// The rule's key: `title`, `subtitle` or `body`.
    package let name: String
    package let key: KeyPath
    package let arguments: KeyPath

    init(_ name: String, _ reader: DescriptionReader) throws {
        let members = try reader.members("key", "arguments")
        self.name = name
        key = try members.required("key", of: reader).keyPath()
        arguments = try members.required("arguments", of: reader).keyPath()
        guard key.keys.count == 2, arguments.keys.count == 2, key.keys[0] == arguments.keys[0] else {
            throw reader.error("expected two keys of one object of the block, as in alert.title-loc-key")
        }
    }
}

/// What a push of the sealed ingress is.
package struct IngressDescription: Hashable, Sendable {
    /// The block as JSON; `{{loc_key}}` stands for the app's text.
    package let block: JSONValue
    /// The size of the whole payload.
    package let limit: ByteCount
    /// The registration fields of a device, by a word for how it is addressed: `production`, `sandbox`.
    package let fields: [String: [String: String]]

    init(_ reader: DescriptionReader) throws {
        let members = try reader.members("block", "limit", "fields")
        block = try members.required("block", of: reader).value
        limit = ByteCount(try members["limit"]?.integer(in: 1...1_000_000) ?? 4096)
        fields = try Dictionary(
            uniqueKeysWithValues: members["fields"]?.members().map { word, fields in
                let fields = try fields.members().map { ($0.name, try $0.value.text()) }
                return (word, Dictionary(uniqueKeysWithValues: fields))
            } ?? []
        )
    }
}

extension DescriptionReader {
    /// A word as a key of a rules file.
    fileprivate func word() throws -> String {
        let text = try text()
        guard (1...32).contains(text.utf8.count), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x2E }) else {
            throw error("expected 1 to 32 letters, digits, _ and -")
        }
        return text
    }
}

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
