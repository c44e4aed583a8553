package import PluginKit

extension JSONObject {
    /// An object that a notification brings, without members where it brings none.
    package init(_ text: BorrowedText, or mistake: MessageMistake) throws(MessageMistake) {
        guard !text.isEmpty else {
            self.init()
            return
        }
        do {
            try self.init(parsing: text.bytes)
        } catch {
            throw mistake
        }
    }
}
