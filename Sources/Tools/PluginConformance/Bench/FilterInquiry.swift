import CarillonABI
import PluginHost
import PluginProtocol
import Push
import Synchronization

/// The input of a filter, byte for byte. Unlike the router's own types, it can hold invalid data.
struct FilterInquiry: Sendable {
    typealias Text = any WritableKeyPath<FilterInquiry, [UInt8]> & Sendable

    /// A text that must not occur in reasons or log lines.
    static let secret = "a conformance secret that must not leak"
    static let key = String(repeating: "5c", count: 32)
    static let recipientKey = String(repeating: "a7", count: 32)

    var event: [UInt8]
    var recipient = Array(FilterInquiry.recipientKey.utf8)
    var lists: [[UInt8]] = []
    var signal = Array("mention".utf8)
    var author = Array(FilterInquiry.key.utf8)
    var relation = Array("mention".utf8)
    var zapMillisats: UInt64 = 0
    var now: UInt64 = 1_770_000_000_000
    var distance: Int32 = 0

    init(event: String) {
        self.event = Array(event.utf8)
    }

    /// Every free text, with its name in the ABI. Author and recipient are keys.
    static let texts: [(name: String, text: Text)] = [
        ("event", \.event), ("signal", \.signal),
        ("relation", \.relation), ("recipient_events", \.firstList),
    ]

    private var firstList: [UInt8] {
        get { lists.first ?? [] }
        set { lists = [newValue] }
    }

    func with(_ change: (inout FilterInquiry) -> Void) -> FilterInquiry {
        var inquiry = self
        change(&inquiry)
        return inquiry
    }

    /// The inquiry as an ABI struct, valid while `arena` exists.
    func call(in arena: Arena, edit: OpaquePointer, isRendered: Bool) -> UnsafePointer<carillon_filter_call>? {
        var call = carillon_filter_call()
        call.event = arena.text(event)
        call.recipient = arena.text(recipient)
        call.recipient_events = arena.array(lists.map { arena.text($0) })
        call.recipient_event_count = lists.count
        call.signal = arena.text(signal)
        call.notification = isRendered ? Self.notification.notification(in: arena) : nil
        call.edit = edit
        call.set = checkSet
        call.author = arena.text(author)
        call.zap_millisats = zapMillisats
        call.now_unix_ms = now
        // Imported as an open enum: every number is a value.
        call.follow_distance = carillon_follow_distance(rawValue: distance) ?? .CARILLON_DISTANCE_UNKNOWN
        call.relation = arena.text(relation)
        return arena.borrow(call)
    }

    private static var notification: Parcel {
        Parcel(to: ConformancePlan.Registration(token: "")).with { parcel in
            parcel.id = []
            parcel.body = Array(secret.utf8)
        }
    }
}

/// A filter's result for one inquiry.
struct FilterDecision: Sendable {
    let status: carillon_status
    /// The plugin's verdict; nil: it wrote none.
    let decision: Int32?
    /// The fields that it set, in order.
    let sets: [CheckedEdit.Entry]

    /// How it breaks the rules; nil if it does not.
    var flaw: String? {
        guard status == .CARILLON_OK else { return nil }
        guard let decision else { return "it returned CARILLON_OK without a verdict: write one to *verdict" }
        guard decision == carillon_verdict.CARILLON_PASS.rawValue || decision == carillon_verdict.CARILLON_DROP.rawValue
        else {
            return "its verdict \(decision) is none of carillon_verdict"
        }
        guard let refused = sets.first(where: { $0.status != .CARILLON_OK }) else { return nil }
        let name = PluginText.printable(String(decoding: refused.field.prefix(64), as: UTF8.self))
        return name == "reason"
            ? "its reason is not at most \(FilterForm.reasonLimit) printable ASCII bytes"
            : "it set \"\(name)\", which the host does not take here"
    }
}

/// The host's side of a `carillon_edit`. It is never freed, so that a late set is detected.
final class CheckedEdit: Sendable {
    struct Entry: Sendable {
        let field: [UInt8]
        let value: [UInt8]
        let status: carillon_status
    }

    private struct State {
        var edit: FilterEdit
        var entries: [Entry] = []
        var isOpen = true
    }

    private static let longest = 65_536
    private let state: Mutex<State>
    private let host: CheckHost

    init(_ notification: Notification?, on host: CheckHost) {
        self.host = host
        state = Mutex(State(edit: FilterEdit(notification)))
    }

    /// The pointer for the plugin. Call this once.
    func openForPlugin() -> OpaquePointer { OpaquePointer(Unmanaged.passRetained(self).toOpaque()) }

    static func at(_ pointer: OpaquePointer?) -> CheckedEdit? {
        pointer.map { Unmanaged<CheckedEdit>.fromOpaque(UnsafeRawPointer($0)).takeUnretainedValue() }
    }

    func set(_ field: carillon_str, _ value: carillon_bytes) -> carillon_status {
        let (name, bytes) = (Self.copy(field), Self.copy(value))
        let status = state.withLock { state -> carillon_status? in
            guard state.isOpen else { return nil }
            let status = state.edit.set(field, value)
            state.entries.append(Entry(field: name, value: bytes, status: status))
            return status
        }
        guard let status else {
            host.note { $0.setTooLate() }
            return .CARILLON_INVALID
        }
        return status
    }

    /// Ends the edit after the call, and returns its entries.
    func close() -> [Entry] {
        state.withLock { state in
            state.isOpen = false
            return state.entries
        }
    }

    private static func copy(_ bytes: carillon_bytes) -> [UInt8] {
        guard bytes.len > 0, let start = bytes.ptr else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: min(bytes.len, longest)))
    }
}

// A function, not a closure: a closure written in an isolated context traps when a plugin calls it from another thread.
func checkSet(_ edit: OpaquePointer?, _ field: carillon_str, _ value: carillon_bytes) -> carillon_status {
    CheckedEdit.at(edit)?.set(field, value) ?? .CARILLON_INVALID
}

/// Sample events and lists. They are not signed, because filters get only verified events.
enum FilterSamples {
    /// Typical events.
    static let regular: [(what: String, inquiry: FilterInquiry)] = [
        ("a note", FilterInquiry(event: event(1, FilterInquiry.secret, #"[["p","\#(FilterInquiry.recipientKey)"]]"#))),
        (
            "a reply",
            FilterInquiry(event: event(1, "re", #"[["e","\#(id)","","root"],["e","\#(id)","","reply"],["t","tag"]]"#))
                .with {
                    $0.signal = Array("reply".utf8)
                    $0.relation = Array("reply".utf8)
                    $0.distance = 1
                }
        ),
        (
            "a gift wrap",
            FilterInquiry(event: event(1059, "AgF7f", #"[["p","\#(FilterInquiry.recipientKey)"]]"#)).with {
                $0.signal = Array("dm".utf8)
                $0.author = []
                $0.relation = []
            }
        ),
        (
            "a zap",
            FilterInquiry(event: event(9735, "", #"[["bolt11","lnbc210n1"],["description","{\"kind\":9734}"]]"#)).with {
                $0.signal = Array("zap".utf8)
                $0.zapMillisats = 21_000
                $0.distance = 2
            }
        ),
        (
            "a repost",
            FilterInquiry(event: event(6, #"{\"kind\":1,\"content\":\"x\"}"#, "[]")).with {
                $0.signal = Array("repost".utf8)
                $0.distance = 3
            }
        ),
        (
            "a contact list",
            FilterInquiry(event: event(3, "", "[" + Array(repeating: person, count: 500).joined(separator: ",") + "]"))
                .with {
                    $0.signal = Array("follow".utf8)
                    $0.distance = 4
                }
        ),
    ]

    /// A list with every sort of entry, of a kind that the filter requests.
    static func list(_ kind: UInt16) -> [UInt8] {
        Array(
            event(
                Int(kind),
                "AgF7f",
                #"[["p","\#(FilterInquiry.key)"],["e","\#(id)"],["t","tag"],["word","conformance"],["a","30000:x:y"]]"#
            ).utf8
        )
    }

    /// Lists that a user may have signed, and lists that a router never passes.
    static let hostileLists: [(what: String, text: [UInt8])] = [
        ("a list without tags", Array(#"{"kind":10000,"content":"x"}"#.utf8)),
        ("invalid tags", Array(event(10_000, "", #"[1,null,{},"p",[],[[]],[1,2],["p",1],["p"]]"#).utf8)),
        ("invalid keys", Array(event(10_000, "", #"[["p",""],["p","zz"],["e","\u0000"],["word",""]]"#).utf8)),
        (
            "10,000 words",
            Array(
                event(10_000, "", "[" + (0..<10_000).map { #"["word","w\#($0)"]"# }.joined(separator: ",") + "]").utf8
            )
        ),
    ]

    private static let id = String(repeating: "e1", count: 32)
    private static let person = #"["p","\#(FilterInquiry.key)","wss://relay.conformance.example","name"]"#

    private static func event(_ kind: Int, _ content: String, _ tags: String) -> String {
        let signature = String(repeating: "0", count: 128)
        return
            #"{"id":"\#(id)","pubkey":"\#(FilterInquiry.key)","created_at":1770000000,"kind":\#(kind),"tags":\#(tags),"#
            + #""content":"\#(content)","sig":"\#(signature)"}"#
    }
}
