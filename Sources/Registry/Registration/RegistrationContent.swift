import Core
import JSON
import Nostr
import Push

/// The decrypted content of a registration (contrib/docs/registration.md): where to push, and for which signals.
package struct RegistrationContent: Hashable, Sendable {
    /// The maximum length in bytes of UTF-8.
    package static let longest = RegistrationLimits.content

    /// The requested platform.
    package var platform: String
    /// The operator's app block. Default: `default`.
    package var app: String
    /// The device token, or the endpoint URL, whichever the platform has.
    package var token: String
    /// The code that was pushed to a target of another account (``ChosenTarget``).
    package var code: String?
    /// Fields for the transport in addition to the token: `p256dh` and `auth` of a subscription, and every other text
    /// field that the core does not use, so that plugins can define their own.
    package var fields: [String: String]
    /// The signals that notify the device.
    package var signals: Set<Signal>
    /// Nil: the operator's default.
    package var mode: Mode?
    package var quiet: QuietHours?
    package var batch: BatchPreferences
    /// The filters of plugins that it switches on or off (`filter_plugins`).
    package var filterSwitches: FilterSwitches
    /// The owner's name for the device.
    package var device: String?
    /// A BCP 47 tag.
    package var locale: String?
    /// The x-only key (BIP-340) made for sealing to this device. Among ``fields`` too, so that it is kept as secret as
    /// they are.
    package var sealingKey: PublicKey?
    /// Relays to watch on the account's behalf instead of its NIP-65 list.
    package var relays: [String]
    /// The keys whose wake-up hints count (kind 20062).
    package var partners: [PublicKey]
    /// Whether the token may serve several accounts at the same time.
    package var shared: Bool
    /// The original JSON, with unknown fields.
    package var json: String

    var preferences: DevicePreferences {
        DevicePreferences(pace: PacePreferences(quiet: quiet, batch: batch), filters: filterSwitches)
    }

    /// ``locale`` as a language tag; nil if it is not a valid one.
    var language: LanguageTag? { locale.flatMap { LanguageTag($0) } }

    /// Returns the address for pushes.
    package func address(registeredAt: Timestamp) -> DeviceAddress {
        DeviceAddress(platform: platform, app: app, token: token, fields: fields, registeredAt: registeredAt)
    }
}

extension RegistrationContent {
    /// Parses the decrypted content of a registration.
    ///
    /// Throws a ``RegistrationError`` that names the first invalid field. Unknown fields are allowed, but unknown
    /// names under `filters` and `signals` are errors according to `checkingSignals`. `platforms` describes the target
    /// of each platform.
    package init(
        json: String,
        platforms: PlatformCatalog = PlatformCatalog(),
        checkingSignals: SignalCheck = { _ in nil }
    ) throws(RegistrationError) {
        guard json.utf8.count <= RegistrationLimits.content else {
            throw .invalid("registration content: expected at most \(RegistrationLimits.content) bytes")
        }
        let reader = FieldReader(try Self.object(json))
        let platform = try reader.word("platform", limit: RegistrationLimits.name, of: .lowerCaseName)
        guard let platform else { throw reader.refusal("platform", expected: Self.expectedPlatform(platforms)) }
        let target = try PushTarget(platforms[platform]?.target, reader: reader)
        let code =
            platforms.hasChosenTargets(platform)
            ? try reader.text(ChosenTarget.codeField, limit: RegistrationLimits.name) : nil
        var fields = try Self.fields(reader).merging(target.keys) { $1 }
        // No transport needs it.
        if code != nil { fields[ChosenTarget.codeField] = nil }
        self.init(
            platform: platform,
            app: try reader.word("app", limit: RegistrationLimits.name, of: .name) ?? "default",
            token: target.token,
            code: code,
            fields: fields,
            signals: try Self.signals(reader, checkingSignals),
            mode: try Self.mode(reader),
            quiet: try QuietHours(reader),
            batch: try BatchPreferences(reader),
            filterSwitches: try FilterSwitches(reader),
            device: try reader.text("device", limit: RegistrationLimits.label),
            locale: try reader.word("locale", limit: RegistrationLimits.name, of: .languageTag),
            sealingKey: try Self.sealingKey(reader),
            relays: try Self.relays(reader),
            partners: try Self.partners(reader),
            shared: try reader.bool("shared") ?? false,
            json: json
        )
    }

    private static func expectedPlatform(_ platforms: PlatformCatalog) -> String {
        let names = platforms.platforms
        return names.isEmpty ? "the name of a platform" : "a platform such as \(names.joined(separator: ", "))"
    }

    /// Validates the additional fields against the platform's description.
    func check(_ fields: [RegistrationField]) throws(RegistrationError) {
        for field in fields {
            guard let text = self.fields[field.name] else {
                if field.isRequired { throw .field(field.name, expected: field.expectation) }
                continue
            }
            if let pattern = field.pattern, !pattern.matches(text) {
                throw .field(field.name, expected: pattern.expected)
            }
        }
    }

    private static func object(_ json: String) throws(RegistrationError) -> JSONObject {
        let value: JSONValue
        do {
            value = try JSONValue(parsing: json)
        } catch {
            throw .invalid("registration content: \(error)")
        }
        guard case .object(let object) = value else { throw .invalid("registration content: expected a JSON object") }
        return object
    }

    /// The names that the core understands; every other text field goes to the transport.
    private static let known: Set<String> = [
        "app", "batch", "device", "filter_plugins", "filters", "locale", "mode", "partners", "platform",
        "push_endpoint", "quiet", "relays", "shared", "signals", "subscription", "token",
    ]

    private static func fields(_ reader: FieldReader) throws(RegistrationError) -> [String: String] {
        var fields: [String: String] = [:]
        for member in reader.object.members where !known.contains(member.name) {
            guard case .string(let text) = member.value else { continue }
            guard (1...RegistrationLimits.name).contains(member.name.utf8.count), Alphabet.name.spells(member.name)
            else {
                throw .invalid(
                    "registration content: expected field names of 1 to \(RegistrationLimits.name) of \(Alphabet.name)"
                )
            }
            guard text.utf8.count <= RegistrationLimits.field, !text.utf8.contains(0) else {
                throw reader.refusal(member.name, expected: "at most \(RegistrationLimits.field) bytes without NUL")
            }
            fields[member.name] = text
        }
        guard fields.count <= RegistrationLimits.fields else {
            throw .invalid("registration content: expected at most \(RegistrationLimits.fields) additional fields")
        }
        return fields
    }

    private static func signals(
        _ reader: FieldReader,
        _ check: SignalCheck
    ) throws(RegistrationError) -> Set<Signal> {
        let filters = try switches(reader, "filters", check)
        let further = try switches(reader, "signals", check) ?? [:]
        var on: Set<Signal> = filters == nil ? [.dm, .mention, .reply] : []
        for (signal, isOn) in filters ?? [:] where isOn { on.insert(signal) }
        for (signal, isOn) in further {
            if let other = filters?[signal], other != isOn {
                throw reader.refusal("signals.\(signal.rawValue)", expected: "the same as in `filters`")
            }
            if isOn { on.insert(signal) } else { on.remove(signal) }
        }
        return on
    }

    private static func switches(
        _ reader: FieldReader,
        _ name: String,
        _ check: SignalCheck
    ) throws(RegistrationError) -> [Signal: Bool]? {
        guard let names = try reader.reader(name) else { return nil }
        guard names.object.members.count <= RegistrationLimits.signals else {
            throw reader.refusal(name, expected: "at most \(RegistrationLimits.signals) signals")
        }
        var switches: [Signal: Bool] = [:]
        for member in names.object.members {
            guard (1...32).contains(member.name.utf8.count), Alphabet.lowerCaseName.spells(member.name) else {
                throw reader.refusal(name, expected: "signal names of 1 to 32 of \(Alphabet.lowerCaseName)")
            }
            if let expected = check(member.name) { throw names.refusal(member.name, expected: expected) }
            if let isOn = try names.bool(member.name) { switches[Signal(rawValue: member.name)] = isOn }
        }
        return switches
    }

    private static func mode(_ reader: FieldReader) throws(RegistrationError) -> Mode? {
        guard let name = try reader.text("mode", limit: RegistrationLimits.name) else { return nil }
        guard let mode = Mode(name: name) else {
            throw reader.refusal("mode", expected: "wake, nudge, sealed or alert")
        }
        return mode
    }

    private static func sealingKey(_ reader: FieldReader) throws(RegistrationError) -> PublicKey? {
        guard let value = reader.object[SealingKey.field] else { return nil }
        guard case .string(let digits) = value, let key = SealingKey.publicKey(digits) else {
            throw reader.refusal(
                SealingKey.field,
                expected: "an x-only public key (BIP-340) of 64 lower-case hexadecimal digits"
            )
        }
        return key
    }

    private static func relays(_ reader: FieldReader) throws(RegistrationError) -> [String] {
        let expected =
            "at most \(RegistrationLimits.relays) wss:// or ws:// URLs of at most \(RegistrationLimits.relay) bytes"
        let relays = try reader.texts("relays", count: RegistrationLimits.relays, expected: expected) ?? []
        guard relays.allSatisfy({ $0.isURL(of: ["wss", "ws"], limit: RegistrationLimits.relay) }) else {
            throw reader.refusal("relays", expected: expected)
        }
        return relays
    }

    private static func partners(_ reader: FieldReader) throws(RegistrationError) -> [PublicKey] {
        let expected = "at most \(RegistrationLimits.partners) public keys of 64 lower-case hexadecimal digits"
        let partners = try reader.texts("partners", count: RegistrationLimits.partners, expected: expected) ?? []
        let keys = partners.compactMap { PublicKey(hex: $0) }
        guard keys.count == partners.count else { throw reader.refusal("partners", expected: expected) }
        return keys
    }
}

extension RegistrationField {
    fileprivate var expectation: String { pattern?.expected ?? (doc.isEmpty ? "a text" : doc) }
}
