public import CarillonABI
import Core

/// Decides of events whether they may wake somebody.
///
/// Conforming is the whole of a filter plugin's work; the C ABI around it is ``PluginDescriptor``'s. Every method may
/// be called on any thread, several at once, and must return promptly: events wait for it.
///
/// The whole of a filter that lets through what comes in with a zap:
///
/// ```swift
/// func decide(_ call: borrowing FilterCall) -> FilterVerdict {
///     call.zapMillisats > 0 ? .pass : .drop(reason: "no zap")
/// }
/// ```
public protocol PluginFilter: AnyObject, Sendable {
    /// What the configuration and registrations call it, such as `mutes`: unique among a router's filters.
    static var name: StaticString { get }

    /// The replaceable events of the recipient that it looks at, such as 10000. The default wants none.
    static var wantedKinds: [UInt32] { get }

    /// The most that any instance needs to know about the recipient's follows. The default is nothing.
    static var mostNeeded: FollowNeed { get }

    /// Whether it is asked once the notification is made, and may change that. The default is asked before.
    static var isAskedAfterRendering: Bool { get }

    /// Reads the filter's settings. No network; reading files that they name is fine.
    ///
    /// Throws a ``PluginError`` that names the key and says what was expected, and never a secret.
    init(configuration: JSONObject, host: Host) throws(PluginError)

    /// What this instance needs to know about the recipient's follows, at most ``mostNeeded``, which is the default.
    var need: FollowNeed { get }

    /// Decides. Throws when it cannot; the operator's `on_error` says what happens then.
    func decide(_ call: borrowing FilterCall) throws(PluginError) -> FilterVerdict
}

extension PluginFilter {
    /// None: a filter that asks for no lists of recipients.
    public static var wantedKinds: [UInt32] { [] }
    /// Nothing: a filter that does not ask about follows.
    public static var mostNeeded: FollowNeed { .nothing }
    /// False: a filter that looks at the event, not at what the rules make of it.
    public static var isAskedAfterRendering: Bool { false }
    /// The most that filters of this sort ever need.
    public var need: FollowNeed { Self.mostNeeded }
}

/// What a filter makes of an event.
public enum FilterVerdict: Sendable, Hashable {
    case pass
    /// It wakes nobody. `reason` is for the router's log and trace: at most 60 printable ASCII characters, never
    /// content.
    case drop(reason: String)
}

/// What a filter needs to know about the recipient's follows; the router finds it out before the call.
public enum FollowNeed: Sendable {
    case nothing
    /// Whether the recipient follows the author.
    case followed
    /// Also whether somebody the recipient follows does. The router may have to ask relays; the event waits meanwhile.
    case distance

    var flags: UInt32 {
        switch self {
        case .nothing: 0
        case .followed: UInt32(CARILLON_FILTER_ASKS_FOLLOWED)
        case .distance: UInt32(CARILLON_FILTER_ASKS_DISTANCE)
        }
    }
}

/// How near the author of an event is to its recipient.
public enum FollowDistance: Sendable {
    /// The router did not find out.
    case unknown
    /// The recipient follows the author, or is the author.
    case followed
    /// Somebody the recipient follows does.
    case second
    case stranger
    /// The recipient does not. Whether somebody the recipient follows does is unknown.
    case notFollowed

    init(_ distance: carillon_follow_distance) {
        switch distance {
        case .CARILLON_DISTANCE_UNKNOWN: self = .unknown
        case .CARILLON_DISTANCE_FOLLOWED: self = .followed
        case .CARILLON_DISTANCE_SECOND: self = .second
        case .CARILLON_DISTANCE_STRANGER: self = .stranger
        case .CARILLON_DISTANCE_NOT_FOLLOWED: self = .notFollowed
        @unknown default: self = .unknown
        }
    }
}

/// One event for one recipient; borrowed for the duration of a call.
public struct FilterCall: ~Copyable {
    private let abi: carillon_filter_call

    package init(_ pointer: UnsafePointer<carillon_filter_call>) {
        abi = carillon_filter_call.adopt(pointer)
    }

    /// The verified event, as JSON.
    public var event: BorrowedText { BorrowedText(abi.event) }
    /// The account, 64 hex digits.
    public var recipient: BorrowedText { BorrowedText(abi.recipient) }
    /// `dm`, `mention`, …
    public var signal: BorrowedText { BorrowedText(abi.signal) }
    /// What the event is to the recipient, in the word that rules use; empty: nothing that has a word.
    public var relation: BorrowedText { BorrowedText(abi.relation) }
    /// Who did it, 64 hex digits, such as the sender of a zap; empty when that is unknown, as for a gift wrap.
    public var author: BorrowedText { BorrowedText(abi.author) }
    /// What a zap is worth; 0: it is none, or unknown.
    public var zapMillisats: UInt64 { abi.zap_millisats }
    /// The router's clock.
    public var now: Timestamp { Timestamp(milliseconds: Int64(clamping: abi.now_unix_ms)) }
    /// As far as the filter's ``PluginFilter/need`` asks for it.
    public var followDistance: FollowDistance { FollowDistance(abi.follow_distance) }

    /// How many of the recipient's newest events are at hand: at most one of each of the filter's wanted kinds.
    public var recipientEventCount: Int { abi.recipient_events == nil ? 0 : abi.recipient_event_count }

    /// One of them, from 0 to ``recipientEventCount`` - 1, as JSON.
    public func recipientEvent(at index: Int) -> BorrowedText? {
        guard (0..<recipientEventCount).contains(index), let events = abi.recipient_events else { return nil }
        return BorrowedText(events[index])
    }

    /// What would be sent; nil unless the filter is asked after rendering.
    public func withNotification<Result>(_ body: (borrowing Notification) -> Result) -> Result? {
        guard let notification = abi.notification else { return nil }
        return body(Notification(notification))
    }

    /// Changes the notification: `field` is one of `title`, `subtitle`, `body`, `category`, `thread`, `collapse_key`,
    /// `url`, `data` and `urgency`. False when the router does not take that, as in modes that show no texts.
    @discardableResult
    public func set(_ field: StaticString, _ value: String) -> Bool {
        guard let set = abi.set else { return false }
        var value = value
        return value.withUTF8 { set(abi.edit, carillon_str(field), carillon_bytes(UnsafeRawBufferPointer($0))) }
            == .CARILLON_OK
    }
}

/// A Nostr event (NIP-01) as a filter reads it. What is no text in a tag is left out with the rest of that tag.
public struct NostrEvent: Sendable {
    /// 64 hex digits.
    public let id: String
    /// 64 hex digits.
    public let pubkey: String
    /// The `kind` of NIP-01, 0 to 65,535 in events that the router lets in.
    public let kind: Int64
    /// The text as it was signed; encrypted texts stay encrypted.
    public let content: String
    /// Their texts, the name first; none is empty.
    public let tags: [[String]]

    /// Throws when `text` is not a JSON object. Missing members are empty.
    public init(parsing text: BorrowedText) throws(JSONError) {
        try self.init(JSONObject(parsing: text.bytes))
    }

    /// The same for an event inside of another, such as a zap's request.
    public init(parsing text: String) throws(JSONError) {
        try self.init(JSONObject(parsing: text))
    }

    private init(_ object: JSONObject) {
        id = object["id"]?.string ?? ""
        pubkey = object["pubkey"]?.string ?? ""
        kind = object["kind"]?.integer ?? -1
        content = object["content"]?.string ?? ""
        tags = (object["tags"]?.elements ?? []).compactMap { tag in
            let texts = (tag.elements ?? []).map(\.string).prefix { $0 != nil }.compactMap(\.self)
            return texts.isEmpty ? nil : texts
        }
    }

    /// The second texts of all tags of that name, in their order.
    public func values(of name: String) -> [String] {
        tags.compactMap { $0.count > 1 && $0[0] == name ? $0[1] : nil }
    }
}

/// One filter of a plugin: what it is, and the C function that creates it.
public struct FilterEntry {
    /// The type of the ABI's `create`.
    public typealias Create = TransportEntry.Create

    private let name: StaticString
    private let wantedKinds: [UInt32]
    private let flags: UInt32
    private let create: Create

    /// `create` is a closure that calls ``make(_:_:_:_:_:)`` with the filter's type: a C function cannot be generic, so
    /// the plugin has to name the type where the function is written.
    public init<Filter: PluginFilter>(_ type: Filter.Type, create: @escaping Create) {
        name = type.name
        wantedKinds = type.wantedKinds
        flags = type.mostNeeded.flags | (type.isAskedAfterRendering ? UInt32(CARILLON_FILTER_RENDERED) : 0)
        self.create = create
    }

    /// The body of an ABI `create`: reads the settings, makes the filter and hands out its pointer.
    public static func make<Filter: PluginFilter>(
        _ type: Filter.Type,
        _ host: UnsafePointer<carillon_host>?,
        _ configuration: carillon_str,
        _ instance: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
        _ error: UnsafeMutablePointer<carillon_error>?
    ) -> carillon_status {
        guard let pointer = host, let instance else { return .CARILLON_INVALID }
        do throws(PluginError) {
            let host = try Host(pointer)
            let filter = try type.init(configuration: TransportEntry.parsed(configuration), host: host)
            instance.pointee = FilterBox(filter, host: host).retainedPointer()
            return .CARILLON_OK
        } catch let mistake {
            TimerCallbacks.removeAll(of: pointer)
            mistake.write(to: error)
            return .CARILLON_INVALID
        }
    }

    /// A table that lives until the process ends.
    func table() -> UnsafePointer<carillon_filter> {
        let kinds = UnsafeMutablePointer<UInt32>.allocate(capacity: max(1, wantedKinds.count))
        kinds.initialize(from: wantedKinds, count: wantedKinds.count)
        let filter = UnsafeMutablePointer<carillon_filter>.allocate(capacity: 1)
        filter.initialize(
            to: carillon_filter(
                struct_size: UInt32(MemoryLayout<carillon_filter>.size),
                flags: flags,
                name: carillon_str(name),
                wanted_kinds: UnsafePointer(kinds),
                wanted_kind_count: wantedKinds.count,
                create: create,
                destroy: destroyFilter,
                decide: askFilter,
                needs: needsOfFilter
            )
        )
        return UnsafePointer(filter)
    }
}

// Functions and not closures: a closure passed to a C struct's initialiser inherits its context's isolation.

private func destroyFilter(_ instance: UnsafeMutableRawPointer?) {
    guard let instance else { return }
    FilterBox.release(instance)
}

private func askFilter(
    _ instance: UnsafeMutableRawPointer?,
    _ call: UnsafePointer<carillon_filter_call>?,
    _ verdict: UnsafeMutablePointer<carillon_verdict>?
) -> carillon_status {
    guard let instance, let call, let verdict else { return .CARILLON_INVALID }
    return FilterBox.at(instance).decide(call, verdict)
}

private func needsOfFilter(_ instance: UnsafeMutableRawPointer?) -> UInt32 {
    guard let instance else { return 0 }
    return FilterBox.at(instance).instance.need.flags
}

package typealias FilterBox = InstanceBox<any PluginFilter>

extension FilterBox {
    /// The body of the ABI's `decide`.
    package func decide(
        _ pointer: UnsafePointer<carillon_filter_call>,
        _ verdict: UnsafeMutablePointer<carillon_verdict>
    ) -> carillon_status {
        let call = FilterCall(pointer)
        do throws(PluginError) {
            switch try instance.decide(call) {
            case .pass: verdict.pointee = .CARILLON_PASS
            case .drop(let reason):
                verdict.pointee = .CARILLON_DROP
                call.set("reason", reason)
            }
            return .CARILLON_OK
        } catch {
            host.log(.debug, "cannot decide: \(error)")
            return .CARILLON_FAILED
        }
    }
}
