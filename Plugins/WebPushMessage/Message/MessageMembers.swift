package import PluginKit

/// Writes the members that an app's message has, whatever it is for: of members of one name the rule's block counts,
/// else `data`, else ours.
package struct MessageMembers {
    package let data: JSONObject
    private let native: JSONObject

    /// Nobody's members.
    package init() {
        data = JSONObject()
        native = JSONObject()
    }

    /// Reads `data` of the notification, and takes `native` for the rule's block.
    package init(_ notification: borrowing Notification, native: JSONObject) throws(MessageMistake) {
        data = try JSONObject(notification.data, or: .badData)
        self.native = native
    }

    /// Writes `t`, which is the signal or `batch`, and of a batch `n`, how many events it stands for (seed 004 section 2).
    package func writeSignal(_ notification: borrowing Notification, to writer: inout JSONWriter) {
        let isBatch = notification.count > 1
        if !isOverridden("t") {
            writer.key("t")
            if isBatch {
                writer.string("batch")
            } else {
                writer.string(notification.signal)
            }
        }
        if isBatch, !isOverridden("n") {
            writer.key("n")
            writer.integer(notification.count)
        }
    }

    /// Writes a text in at most `limit` bytes of JSON, and nothing where there is none. Returns how many it became.
    @discardableResult
    package func writeText(
        _ name: StaticString,
        _ text: BorrowedText,
        to writer: inout JSONWriter,
        limit: Int? = nil
    ) -> Int {
        guard !text.isEmpty, !isOverridden(name) else { return 0 }
        writer.key(name)
        return writer.string(text, limit: limit)
    }

    /// Writes the buttons as a list of `{"id","label","url"?,"icon"?}`, and nothing where there are none.
    package func writeActions(_ notification: borrowing Notification, to writer: inout JSONWriter) {
        guard notification.hasActions, !isOverridden("actions") else { return }
        writer.key("actions")
        writer.beginArray()
        notification.forEachAction { writer.action($0) }
        writer.endArray()
    }

    /// Writes the members of `data` and of the rule's block.
    package func writeOthers(to writer: inout JSONWriter) {
        for index in 0..<data.count {
            let member = data.member(at: index)
            if !native.contains(nameOf: member) {
                writer.member(member)
            }
        }
        writer.members(of: native)
    }

    private func isOverridden(_ name: StaticString) -> Bool {
        data.contains(name) || native.contains(name)
    }
}
