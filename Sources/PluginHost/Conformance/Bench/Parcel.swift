/// A notification and where it goes, byte for byte: unlike the router's own types it can hold what is forbidden.
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

    /// Every text of a notification with its name in the ABI.
    static let texts: [(name: String, text: Text)] = [
        ("id", \.id), ("signal", \.signal), ("title", \.title), ("subtitle", \.subtitle), ("body", \.body),
        ("category", \.category), ("thread", \.thread), ("collapse_key", \.collapseKey), ("url", \.url),
        ("actions", \.everyButtonText), ("data", \.data), ("native", \.native),
    ]

    /// Puts one text into all texts of one button.
    private var everyButtonText: [UInt8] {
        get { buttons.first?.id ?? [] }
        set { buttons = [Button(id: newValue, label: newValue, url: newValue, icon: newValue)] }
    }

    /// The parcel in another mode, with what the router takes out of a wake-up taken out.
    func inMode(_ mode: Int32) -> Parcel {
        var parcel = self
        parcel.mode = mode
        guard mode == 0 else { return parcel }
        for (name, text) in Parcel.texts where name != "id" && name != "signal" { parcel[keyPath: text] = [] }
        parcel.buttons = []
        return parcel
    }

    func with(_ change: (inout Parcel) -> Void) -> Parcel {
        var parcel = self
        change(&parcel)
        return parcel
    }
}
