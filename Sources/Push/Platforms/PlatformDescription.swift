import Core
import JSON

/// The description of a platform by its transport: the document of `describe` in the plugin ABI. The core knows
/// platforms only by it.
package struct PlatformDescription: Sendable, Hashable {
    /// The version of the format that this host reads.
    package static let version = 1
    /// The limit in UTF-8 bytes.
    package static let limit = 262_144

    /// The display name, such as `Apple Push Notification service`.
    package let name: String
    /// The rule key of this platform's block; nil means `native: {<platform>: …}`.
    package let block: String?
    /// A sentence about the rule block.
    package let doc: String
    package let target: PushTargetDescription
    /// The fields of a registration in addition to its target.
    package let fields: [RegistrationField]
    package let configuration: PlatformConfiguration
    /// The rule block.
    package let rules: ObjectSchema
    /// The built-in rules' block for this platform; nil if there is none.
    package let defaultBlock: JSONValue?
    /// Keys of the payload that a rule's `data` must not have, each with an error message.
    package let reservedData: [String: String]
    /// The location of localised texts in the block, by the rule's key.
    package let texts: [LocalizedText]
    package let pushes: PushKinds
    package let presentation: [PresentationKey]
    /// Whether people see wake-ups, with the keys of ``presentation``.
    package let showsWakeUps: Bool
    package let batch: SummaryBlock?
    package let limits: PushLimits
    /// Parts of a notification that the service does not support, such as `subtitle`.
    package let cannot: [String]
    /// The push of the sealed ingress; nil if the platform cannot serve it.
    package let ingress: IngressDescription?
    package let sample: PlatformSample

    /// Reads a document. Unknown members are ignored.
    package init(parsing text: String) throws(PlatformDescriptionError) {
        try self.init(parsing: text, unknown: DescriptionReader.UnknownMembers())
    }

    /// Returns the JSON pointers of unknown members in a document, which `plugin check` reports as errors.
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

/// The target of pushes in a registration.
package struct PushTargetDescription: Hashable, Sendable {
    package enum Kind: String, CaseIterable, Hashable, Sendable {
        /// The registration's `token`.
        case token
        /// `push_endpoint`, or `subscription.endpoint`; keys are optional.
        case endpoint
        /// An endpoint with the keys `p256dh` and `auth`.
        case subscription
    }

    package let kind: Kind
    /// The form of a token; nil means any.
    package let pattern: TextPattern?
    /// The error message for a client whose token is missing or does not match.
    package let expected: String
    /// Whether users choose it, so that others can guess it.
    package let isChosen: Bool

    init(_ reader: DescriptionReader) throws {
        let members = try reader.members("kind", "pattern", "expected", "chosen")
        kind = try members.required("kind", of: reader).choice(Kind.self)
        expected = try members["expected"]?.text() ?? "the device token from the platform"
        pattern = try members["pattern"]?.pattern(expected: expected)
        isChosen = try members["chosen"]?.flag() ?? false
    }
}

/// A field of a registration in addition to its target.
package struct RegistrationField: Hashable, Sendable {
    package let name: String
    package let isRequired: Bool
    package let isSecret: Bool
    package let pattern: TextPattern?
    package let doc: String
    /// The kind of push that needs it; nil means any.
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
    /// A sentence about the block.
    package let doc: String
    package let schema: ObjectSchema
    /// Environment variables that contain the whole configuration, only for the sealed ingress.
    package let environment: [Variable]

    package struct Variable: Hashable, Sendable {
        package let name: String
        /// The key of the block that it sets.
        package let key: String
        package let doc: String
        package let isRequired: Bool
        /// Whether `\n` in it means a line break.
        package let hasEscapedNewlines: Bool
        /// Whether no other program uses it, so that its presence selects this platform.
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

/// The location in the block for the name of a localised text in the app.
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

/// The description of a push of the sealed ingress.
package struct IngressDescription: Hashable, Sendable {
    /// The block as JSON; `{{loc_key}}` is replaced by the name of the app's text.
    package let block: JSONValue
    /// The maximum size of the whole payload.
    package let limit: ByteCount
    /// A device's registration fields, by a word for the environment: `production`, `sandbox`.
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
    /// Reads a word that can be a key of a rules file.
    fileprivate func word() throws -> String {
        let text = try text()
        guard (1...32).contains(text.utf8.count), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x2E }) else {
            throw error("expected 1 to 32 letters, digits, _ and -")
        }
        return text
    }
}

/// The descriptions of all loaded platforms. It omits platforms without a description.
package struct PlatformCatalog: Sendable, Hashable {
    private let descriptions: [String: PlatformDescription]

    /// Creates a catalog of descriptions by platform name, such as `ios`.
    package init(_ descriptions: [String: PlatformDescription] = [:]) {
        self.descriptions = descriptions
    }

    package subscript(platform: String) -> PlatformDescription? { descriptions[platform] }

    /// The platforms' names, sorted.
    package var platforms: [String] { descriptions.keys.sorted() }

    /// Returns the platform that has this block key in rules.
    package func platform(ofBlock block: String) -> String? {
        platforms.first { descriptions[$0]?.block == block }
    }

    /// The block keys of rules with their platforms, sorted by platform. If two platforms have the same key, the first
    /// one gets it.
    package var blocks: [(key: String, platform: String)] {
        var keys: Set<String> = []
        return platforms.compactMap { platform in
            guard let key = descriptions[platform]?.block, keys.insert(key).inserted else { return nil }
            return (key, platform)
        }
    }

    /// The only platform that can serve the sealed ingress; nil if there are none or several.
    package var onlyIngressPlatform: String? {
        let platforms = platforms.filter { descriptions[$0]?.ingress != nil }
        return platforms.count == 1 ? platforms[0] : nil
    }

    /// Keys of payloads that a rule's `data` must not have, each with an error message.
    package var reservedData: [String: String] {
        descriptions.values.reduce(into: [:]) { $0.merge($1.reservedData) { first, _ in first } }
    }

    /// The hourly limit of silent pushes for each device, by platform. Platforms without an entry have no separate
    /// limit.
    package var silentPushesPerHour: [String: Int] {
        descriptions.compactMapValues(\.pushes.backgroundPerHour)
    }
}
