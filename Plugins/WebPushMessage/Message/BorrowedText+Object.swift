package import PluginKit

extension BorrowedText {
    /// The object that it is, without members for an empty text.
    package func object(or mistake: MessageMistake) throws(MessageMistake) -> JSONObject {
        do throws(JSONError) {
            return try jsonObject()
        } catch {
            throw mistake
        }
    }
}
