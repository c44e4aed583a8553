package import PluginKit

/// Writes the members that an app's message has, whatever it is for: of members of one name the rule's block counts,
/// else `data`, else ours.
package struct MessageMembers {
    private let data: JSONObject
    private let native: JSONObject

    /// Nobody's members.
    package init() {
        data = JSONObject()
        native = JSONObject()
    }

    /// Reads `data` of the notification, and takes `native` for the rule's block.
    package init(_ notification: borrowing Notification, native: JSONObject) throws(MessageMistake) {
        data = try notification.data.object(or: .badData)
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
        isOverridden(name) ? 0 : writer.member(name, text, limit: limit)
    }

    /// Writes the buttons as a list of `{"id","label","url"?,"icon"?}`, and nothing where there are none.
    package func writeActions(_ notification: borrowing Notification, to writer: inout JSONWriter) {
        guard notification.hasActions, !isOverridden("actions") else { return }
        writer.key("actions")
        writer.actions(of: notification)
    }

    /// Writes the members of `data` and of the rule's block, with at most `referencedContent` bytes of
    /// `referenced_event_content`. Returns how many that became.
    package func writeOthers(to writer: inout JSONWriter, referencedContent limit: Int?) -> Int {
        let length = writer.members(ofData: data, except: native, referencedContent: limit)
        writer.members(of: native)
        return length
    }

    private func isOverridden(_ name: StaticString) -> Bool {
        data.contains(name) || native.contains(name)
    }
}
