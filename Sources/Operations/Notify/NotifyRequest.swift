import Console
import Core
import Foundation
import JSON
import NIOCore
import Nostr
import Pipeline
import PluginHost
import Push
import Registry
import RouterConfiguration
import Rules
import Synchronization

/// A request for a notification, with its content and recipients.
struct NotifyRequest: Sendable {
    /// The recipients of a notification.
    enum Recipients: Sendable {
        case devices([DeviceID])
        case accounts([PublicKey])
        case group(GroupName)
        /// All accounts with a device of the app that has the signal enabled; `nil`: any device.
        case app(String, wanting: Signal?)
    }

    /// The maximum number of devices or accounts in one request.
    static let maxRecipients = 5_000
    /// The maximum size of a request. It fits `maxRecipients` accounts in hex and the content.
    static let longest: ByteCount = .kibibytes(512)
    /// Request keys that are not rule keys.
    private static let ownKeys = ["to", "signal", "template", "values", "dry_run"]
    /// The maximum number of values for a template, and of characters in each.
    static let maxValues = 20
    static let longestValue = 4_000

    let recipients: Recipients
    let order: NotificationOrder
    /// The template's values as tags of the event.
    let tags: [[String]]
    /// Whether the request only counts recipients.
    let isDryRun: Bool

    /// The active rules and platforms.
    struct Terms {
        let book: RuleBook
        let platforms: KnownPlatforms
        /// `nil` if any name is allowed.
        var apps: [String]?
    }

    /// The platforms for parsing requests, rebuilt only after more plugins were loaded.
    final class LoadedPlatforms: Sendable {
        private let plugins: PluginHost
        private let known = Mutex<(loads: Int, platforms: KnownPlatforms)?>(nil)

        init(_ plugins: PluginHost) { self.plugins = plugins }

        func terms(_ book: RuleBook, apps: [String]) -> Terms {
            let loads = plugins.loads
            let platforms = known.withLock { known in
                if let known, known.loads == loads { return known.platforms }
                let platforms = KnownPlatforms(plugins)
                known = (loads, platforms)
                return platforms
            }
            return Terms(book: book, platforms: platforms, apps: apps)
        }
    }

    /// Throws an ``APIError`` that lists all errors.
    init(_ body: ByteBuffer, _ terms: Terms) throws(APIError) {
        let object = try JSONObject(body)
        var mistakes = Mistakes()
        let target = Target(object, terms, &mistakes)
        let content = Self.content(object, target, terms, &mistakes)
        let signal = Self.signal(object, content, terms, &mistakes)
        switch object["dry_run"] {
        case nil: isDryRun = false
        case .bool(let flag)?: isDryRun = flag
        default:
            isDryRun = false
            mistakes.add("/dry_run", "expected true or false")
        }
        guard let target, let content, mistakes.all.isEmpty else { throw mistakes.problem }
        recipients = target.recipients
        var devices: Set<DeviceID>?
        if case .devices(let all) = target.recipients { devices = Set(all) }
        order = NotificationOrder(
            content.order,
            signal: target.tag ?? signal,
            devices: devices,
            platform: target.platform,
            app: target.app,
            request: Self.forMembers(body, object, target.recipients)
        )
        tags = content.tags
    }

    /// Returns the request for other members. Each event names its own accounts, so one account replaces a list.
    private static func forMembers(_ body: ByteBuffer, _ object: JSONObject, _ recipients: Recipients) -> [UInt8] {
        guard case .accounts(let accounts) = recipients, accounts.count > 1, case .object(var to)? = object["to"],
            let list = to.members.firstIndex(where: { $0.name == "accounts" }),
            let place = object.members.firstIndex(where: { $0.name == "to" })
        else { return Array(body.readableBytesView) }
        to.members[list] = JSONObject.Member(name: "account", value: .string(accounts[0].hex))
        var short = object
        short.members[place].value = .object(to)
        return Array(JSONValue.object(short).json.utf8)
    }

    // MARK: Content

    private static func content(
        _ object: JSONObject,
        _ target: Target?,
        _ terms: Terms,
        _ mistakes: inout Mistakes
    ) -> (order: NotificationOrder.Content, tags: [[String]])? {
        let said = object.members.filter { !ownKeys.contains($0.name) }
        if let template = object["template"] {
            for member in said {
                mistakes.add("/\(member.name)", "the template already sets this: remove '\(member.name)' or 'template'")
            }
            return self.template(template, object["values"], terms, &mistakes)
        }
        if object["values"] != nil { mistakes.add("/values", "expected 'template' as well, which uses these values") }
        let shows = ["title", "subtitle", "body", "data", "native"]
        if !said.contains(where: { shows.contains($0.name) && !Self.isEmpty($0.value) }) {
            let blocks = terms.platforms.catalog.blocks.map(\.key)
            if !said.contains(where: { blocks.contains($0.name) }) {
                mistakes.add("", "expected at least one of title, body and data, or a template")
            }
        }
        do throws(RequestedRuleError) {
            let rule = try Rule.requested(
                JSONObject(members: said),
                by: target?.app.map { terms.book[$0] } ?? terms.book,
                name: "api",
                platforms: terms.platforms.catalog,
                blockChecks: terms.platforms.blockChecks,
                otherKeys: ownKeys
            )
            return (.rule(rule), [])
        } catch {
            for mistake in error.mistakes { mistakes.add(mistake.pointer, mistake.message) }
            return nil
        }
    }

    private static func isEmpty(_ value: JSONValue) -> Bool {
        switch value {
        case .string(let text): text.isEmpty
        case .object(let object): object.members.isEmpty
        default: false
        }
    }

    private static func template(
        _ name: JSONValue,
        _ values: JSONValue?,
        _ terms: Terms,
        _ mistakes: inout Mistakes
    ) -> (order: NotificationOrder.Content, tags: [[String]])? {
        guard case .string(let name) = name,
            ([terms.book] + terms.book.ofApps.values).contains(where: { $0.rule(named: name) != nil })
        else {
            mistakes.add("/template", "expected the name of a rule that sends a notification")
            return nil
        }
        var tags: [[String]] = []
        if let values {
            guard case .object(let object) = values, object.members.count <= maxValues else {
                mistakes.add("/values", "expected an object of at most \(maxValues) strings")
                return nil
            }
            for member in object.members {
                guard case .string(let text) = member.value, text.unicodeScalars.count <= longestValue else {
                    mistakes.add(
                        "/values/\(Mistakes.escaped(member.name))",
                        "expected a string of at most \(longestValue) characters"
                    )
                    continue
                }
                // Reserved tags: they set recipients and expiry.
                guard !["p", "expiration", "root_identity", "request", ""].contains(member.name) else {
                    mistakes.add("/values/\(Mistakes.escaped(member.name))", "expected another name")
                    continue
                }
                tags.append([member.name, text])
            }
        }
        return (.template(name), tags)
    }

    private static func signal(
        _ object: JSONObject,
        _ content: (order: NotificationOrder.Content, tags: [[String]])?,
        _ terms: Terms,
        _ mistakes: inout Mistakes
    ) -> Signal? {
        guard let value = object["signal"] else { return nil }
        guard case .string(let word) = value else {
            mistakes.add("/signal", "expected a string")
            return nil
        }
        return known(Signal(rawValue: word), at: "/signal", terms.book, &mistakes)
    }

    /// Returns a signal that registrations can turn on or off.
    private static func known(
        _ signal: Signal,
        at pointer: String,
        _ book: RuleBook,
        _ mistakes: inout Mistakes
    ) -> Signal? {
        guard Signal.wellKnown.contains(signal) || book.namedSignals.contains(signal) else {
            let all = (Signal.wellKnown + book.namedSignals.sorted { $0.rawValue < $1.rawValue }).map(\.rawValue)
            mistakes.add(pointer, "expected a signal that a rule names: \(all.joined(separator: ", "))")
            return nil
        }
        return signal
    }
}

/// The errors of a request.
private struct Mistakes {
    private(set) var all: [APIError.FieldError] = []

    /// `pointer` is a JSON Pointer (RFC 6901).
    mutating func add(_ pointer: String, _ detail: String) {
        all.append(APIError.FieldError(pointer: "#\(pointer)", detail: detail))
    }

    var problem: APIError {
        // A misspelled name often explains a missing one, so it comes first.
        let first = (all.first { $0.pointer != "#" } ?? all.first).map { "\($0.pointer): \($0.detail)" } ?? "the body"
        return APIError(422, all.count > 1 ? "\(first); and \(all.count - 1) more" : first, mistakes: all)
    }

    static func escaped(_ name: String) -> String { name.replacing("~", with: "~0").replacing("/", with: "~1") }
}

/// The JSON member `to`.
private struct Target {
    private static let ways = ["device", "devices", "account", "accounts", "group", "tag", "everybody"]

    let recipients: NotifyRequest.Recipients
    let tag: Signal?
    let platform: String?
    let app: String?

    init?(_ object: JSONObject, _ terms: NotifyRequest.Terms, _ mistakes: inout Mistakes) {
        guard case .object(let to)? = object["to"] else {
            mistakes.add("/to", "expected an object with the recipients: \(Self.ways.joined(separator: ", "))")
            return nil
        }
        for member in to.members where !(Self.ways + ["app", "platform"]).contains(member.name) {
            mistakes.add(
                "/to/\(Mistakes.escaped(member.name))",
                "expected \(Self.ways.joined(separator: ", ")), app or platform"
            )
        }
        func text(_ name: String) -> String? {
            guard let value = to[name] else { return nil }
            if case .string(let text) = value, !text.isEmpty { return text }
            mistakes.add("/to/\(name)", "expected a non-empty string")
            return nil
        }
        platform = text("platform")
        app = text("app")
        if let apps = terms.apps {
            if let app, !apps.contains(app) {
                mistakes.add("/to/app", "expected an app of the configuration: \(apps.joined(separator: ", "))")
            }
            let platforms = terms.platforms.catalog.platforms
            if let platform, !platforms.contains(platform) {
                mistakes.add("/to/platform", "expected a platform: \(platforms.joined(separator: ", "))")
            }
        }
        tag = text("tag").map(Signal.init(rawValue:))
        let named = Self.ways.filter { to[$0] != nil }
        guard named.count == 1, let way = named.first, let value = to[way] else {
            mistakes.add("/to", "expected exactly one of \(Self.ways.joined(separator: ", "))")
            return nil
        }
        guard let recipients = Self.recipients(way, value, app, tag, &mistakes) else { return nil }
        self.recipients = recipients
    }

    private static func recipients(
        _ way: String,
        _ value: JSONValue,
        _ app: String?,
        _ tag: Signal?,
        _ mistakes: inout Mistakes
    ) -> NotifyRequest.Recipients? {
        switch way {
        case "device": return device(value, "/to/device", &mistakes).map { .devices([$0]) }
        case "account": return account(value, "/to/account", &mistakes).map { .accounts([$0]) }
        case "devices": return list(value, way, &mistakes, device).map { .devices($0) }
        case "accounts": return list(value, way, &mistakes, account).map { .accounts($0) }
        default:
            if way == "everybody", value != .bool(true) { mistakes.add("/to/everybody", "expected true") }
            guard let app else {
                mistakes.add("/to/app", "expected the app of the recipients")
                return nil
            }
            if way == "group" {
                guard case .string(let word) = value, let name = GroupName(app: app, group: word) else {
                    mistakes.add("/to/group", "expected the name of a group")
                    return nil
                }
                return .group(name)
            }
            return .app(app, wanting: tag)
        }
    }

    /// Parses a list and removes duplicates.
    private static func list<Element: Hashable>(
        _ value: JSONValue,
        _ way: String,
        _ mistakes: inout Mistakes,
        _ read: (JSONValue, String, inout Mistakes) -> Element?
    ) -> [Element]? {
        guard case .array(let values) = value, (1...NotifyRequest.maxRecipients).contains(values.count) else {
            mistakes.add("/to/\(way)", "expected a list of 1 to \(NotifyRequest.maxRecipients)")
            return nil
        }
        let elements = values.enumerated().compactMap { read($0.element, "/to/\(way)/\($0.offset)", &mistakes) }
        var seen: Set<Element> = []
        return elements.count == values.count ? elements.filter { seen.insert($0).inserted } : nil
    }

    private static func device(_ value: JSONValue, _ pointer: String, _ mistakes: inout Mistakes) -> DeviceID? {
        guard case .number(let digits) = value, let number = Int64(digits), number > 0 else {
            mistakes.add(pointer, "expected a device's number; carillon devices list shows them")
            return nil
        }
        return DeviceID(rawValue: number)
    }

    private static func account(_ value: JSONValue, _ pointer: String, _ mistakes: inout Mistakes) -> PublicKey? {
        guard case .string(let text) = value, let key = PublicKey(hex: text) ?? NIP19.publicKey(npub: text) else {
            mistakes.add(pointer, "expected 64 lowercase hex digits or npub1…")
            return nil
        }
        return key
    }
}
