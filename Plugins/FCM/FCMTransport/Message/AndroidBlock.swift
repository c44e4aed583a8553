import PluginKit

/// The platform's block of a rule: members of FCM's `AndroidConfig`, and `style`.
struct AndroidBlock {
    /// Who draws.
    enum Style {
        /// The app: everything reaches it as `data`.
        case data
        /// FCM: title and body are a `notification`.
        case notification
    }

    let style: Style
    /// The members of `notification`.
    let notification: JSONObject
    private let members: JSONObject

    /// What wake-ups have.
    static let none = AndroidBlock()

    private init() {
        style = .data
        notification = JSONObject()
        members = JSONObject()
    }

    /// `usual` is the style where the block names none.
    init(parsing text: BorrowedText, usual: Style = .data) throws(MessageMistake) {
        do throws(JSONError) {
            members = try text.jsonObject()
        } catch {
            throw .badNative
        }
        switch members["style"]?.string {
        case "notification": style = .notification
        case nil: style = usual
        default: style = .data
        }
        if let value = members["notification"], !value.isNull {
            guard let object = value.object else { throw .badNative }
            notification = object
        } else {
            notification = JSONObject()
        }
    }

    private init(_ other: AndroidBlock, drawnBy style: Style) {
        self.style = style
        notification = other.notification
        members = other.members
    }

    /// The same for an app that draws itself, whatever the block says.
    var drawnByTheApp: AndroidBlock { AndroidBlock(self, drawnBy: .data) }

    func contains(_ name: StaticString) -> Bool { members.contains(name) }

    /// What goes into `AndroidConfig` as it stands. `data` is not ours to let through: it would replace the message's.
    func writeConfiguration(to writer: inout JSONWriter) {
        for index in 0..<members.count {
            let member = members.member(at: index)
            switch member.key {
            case "style", "notification", "data": break
            default: writer.member(member)
            }
        }
    }
}
