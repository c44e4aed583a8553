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

    /// What neither wakes, nudges nor sealed messages may have.
    static let none = AndroidBlock()

    private init() {
        style = .data
        notification = JSONObject()
        members = JSONObject()
    }

    init(parsing text: BorrowedText) throws(MessageMistake) {
        do throws(JSONError) {
            members = try text.jsonObject()
        } catch {
            throw .badNative
        }
        style = members["style"]?.string == "notification" ? .notification : .data
        if let value = members["notification"], !value.isNull {
            guard let object = value.object else { throw .badNative }
            notification = object
        } else {
            notification = JSONObject()
        }
    }

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
