import CarillonABI

/// A notification and its target, byte for byte. Unlike the router's own types, it can hold invalid data.
struct Parcel: Sendable {
    typealias Text = any WritableKeyPath<Parcel, [UInt8]> & Sendable

    struct Button: Sendable {
        var id: [UInt8]
        var label: [UInt8]
        var url: [UInt8]
        var icon: [UInt8]
    }

    struct Field: Sendable {
        var name: [UInt8]
        var value: [UInt8]
    }

    var token: [UInt8]
    var fields: [Field]
    var registeredAt: UInt64 = 1_700_000_000_000

    var mode: Int32 = 3
    var urgency: Int32 = 1
    var count: UInt32 = 1
    var id = Array("0b5e7c9e-93a4-4b1f-8a35-6d6a3a3ad8a5".utf8)
    var signal = Array("dm".utf8)
    var title = Array("Conformance title".utf8)
    var subtitle: [UInt8] = []
    var body = Array("Conformance body".utf8)
    var category = Array("kind_1".utf8)
    var thread = Array("thread-1".utf8)
    var collapseKey = Array("collapse-1".utf8)
    var url = Array("nostr:note1conformance".utf8)
    var buttons: [Button] = []
    var data: [UInt8] = []
    var native: [UInt8] = []
    var expiresAt: UInt64 = 0

    init(to registration: ConformancePlan.Registration) {
        token = Array(registration.token.utf8)
        fields = registration.fields.sorted { $0.key < $1.key }
            .map { Field(name: Array($0.key.utf8), value: Array($0.value.utf8)) }
    }

    /// Every free text of a notification, with its name in the ABI. The ID is always a UUID.
    static let texts: [(name: String, text: Text)] = [
        ("signal", \.signal), ("title", \.title), ("subtitle", \.subtitle), ("body", \.body),
        ("category", \.category), ("thread", \.thread), ("collapse_key", \.collapseKey), ("url", \.url),
        ("actions", \.everyButtonText), ("data", \.data), ("native", \.native),
    ]

    /// Sets one text in all texts of one button.
    private var everyButtonText: [UInt8] {
        get { buttons.first?.id ?? [] }
        set { buttons = [Button(id: newValue, label: newValue, url: newValue, icon: newValue)] }
    }

    /// The parcel in another mode, without the fields that the router removes from a wake-up.
    func inMode(_ mode: Int32) -> Parcel {
        var parcel = self
        parcel.mode = mode
        guard mode == 0 else { return parcel }
        for (name, text) in Parcel.texts where name != "signal" { parcel[keyPath: text] = [] }
        parcel.buttons = []
        return parcel
    }

    func with(_ change: (inout Parcel) -> Void) -> Parcel {
        var parcel = self
        change(&parcel)
        return parcel
    }

    func registration(in arena: Arena) -> UnsafePointer<carillon_registration>? {
        let fields = fields.map { carillon_field(name: arena.text($0.name), value: arena.text($0.value)) }
        return arena.borrow(
            carillon_registration(
                struct_size: 0,
                reserved: 0,
                token: arena.text(token),
                fields: arena.array(fields),
                field_count: fields.count,
                registered_unix_ms: registeredAt
            )
        )
    }

    func notification(in arena: Arena) -> UnsafePointer<carillon_notification>? {
        var borrowed = carillon_notification()
        // Imported as open enums: every number is a value.
        borrowed.mode = carillon_mode(rawValue: mode) ?? .CARILLON_ALERT
        borrowed.urgency = carillon_urgency(rawValue: urgency) ?? .CARILLON_NORMAL
        borrowed.count = count
        borrowed.id = arena.text(id)
        borrowed.signal = arena.text(signal)
        borrowed.title = arena.text(title)
        borrowed.subtitle = arena.text(subtitle)
        borrowed.body = arena.text(body)
        borrowed.category = arena.text(category)
        borrowed.thread = arena.text(thread)
        borrowed.collapse_key = arena.text(collapseKey)
        borrowed.url = arena.text(url)
        borrowed.actions = arena.array(buttons.map { arena.borrow(action(of: $0, in: arena)) })
        borrowed.action_count = buttons.count
        borrowed.data = arena.text(data)
        borrowed.native = arena.text(native)
        borrowed.expires_unix_ms = expiresAt
        return arena.borrow(borrowed)
    }

    private func action(of button: Button, in arena: Arena) -> carillon_action {
        carillon_action(
            struct_size: 0,
            reserved: 0,
            id: arena.text(button.id),
            label: arena.text(button.label),
            url: arena.text(button.url),
            icon: arena.text(button.icon)
        )
    }
}

/// A push service's response, byte for byte.
struct Answer: Sendable {
    /// 0: no response arrived.
    var status: UInt32
    var headers: [(name: [UInt8], value: [UInt8])] = []
    var body: [UInt8] = []
    var failure = ""

    init(_ status: UInt32, headers: [(String, String)] = [], body: String = "") {
        self.status = status
        self.headers = headers.map { (Array($0.0.utf8), Array($0.1.utf8)) }
        self.body = Array(body.utf8)
    }

    /// No response arrived.
    static func nothing(because failure: String) -> Answer {
        var answer = Answer(0)
        answer.failure = failure
        return answer
    }

    /// A successful response of an authorization server (RFC 6749 section 5.1).
    static let accessToken = Answer(
        200,
        headers: [("content-type", "application/json")],
        body: #"{"access_token":"conformance","token_type":"Bearer","expires_in":3600}"#
    )

    /// The response as an ABI struct, valid while `arena` exists.
    func borrow(in arena: Arena) -> UnsafePointer<carillon_http_response>? {
        let fields = headers.map { carillon_field(name: arena.text($0.name), value: arena.text($0.value)) }
        return arena.borrow(
            carillon_http_response(
                struct_size: 0,
                status: status,
                headers: arena.array(fields),
                header_count: fields.count,
                body: arena.text(body),
                failure: arena.text(Array(failure.utf8))
            )
        )
    }
}
