import CarillonABI

/// What a filter is asked, byte for byte: unlike the router's own types it can hold what is forbidden.
struct FilterInquiry: Sendable {
    typealias Text = any WritableKeyPath<FilterInquiry, [UInt8]> & Sendable

    /// What no reason and no line of a log may hold.
    static let secret = "a conformance secret that nobody may repeat"
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

    /// Every text with its name in the ABI.
    static let texts: [(name: String, text: Text)] = [
        ("event", \.event), ("recipient", \.recipient), ("signal", \.signal), ("author", \.author),
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

    /// The inquiry as the ABI says it, for as long as `arena` lives.
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
        return arena.lend(call)
    }

    private static var notification: Parcel {
        Parcel(to: ConformancePlan.Registration(token: "")).with { parcel in
            parcel.id = []
            parcel.body = Array(secret.utf8)
        }
    }
}
