import PluginKit

/// The block's `alert`: a text that replaces our texts, or an object of which each member replaces one of ours.
struct NativeAlert: Sendable {
    /// The whole alert.
    let text: JSONValue?
    let title: JSONValue?
    let subtitle: JSONValue?
    let body: JSONValue?
    /// Which of our texts the app looks up by itself (`title-loc-key`, `subtitle-loc-key`, `loc-key`).
    let localizesTitle: Bool
    let localizesSubtitle: Bool
    let localizesBody: Bool
    /// The sound of a Live Activity, which has it in here.
    let sound: JSONValue?
    /// All other members.
    let members: JSONObject

    /// Whether it shows anything by itself.
    var isVisible: Bool {
        text != nil || title != nil || subtitle != nil || body != nil || !members.isEmpty
    }

    init() {
        self.init(JSONObject(), text: nil, ofLiveActivity: false)
    }

    /// Throws ``PayloadMistake/badNative`` for what is neither text nor object.
    init(_ value: JSONValue?, ofLiveActivity: Bool) throws(PayloadMistake) {
        guard let value else {
            self.init()
            return
        }
        if value.isString {
            self.init(JSONObject(), text: value, ofLiveActivity: ofLiveActivity)
        } else {
            guard let object = value.object else { throw .badNative }
            self.init(object, text: nil, ofLiveActivity: ofLiveActivity)
        }
    }

    private init(_ object: JSONObject, text: JSONValue?, ofLiveActivity: Bool) {
        self.text = text
        title = object["title"]
        subtitle = object["subtitle"]
        body = object["body"]
        localizesTitle = object.contains("title-loc-key")
        localizesSubtitle = object.contains("subtitle-loc-key")
        localizesBody = object.contains("loc-key")
        sound = ofLiveActivity ? object["sound"] : nil
        members = object.removing(["title", "subtitle", "body"] + (ofLiveActivity ? ["sound"] : []))
    }
}
