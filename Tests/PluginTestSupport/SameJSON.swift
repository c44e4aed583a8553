import Foundation

/// Whether two texts are the same JSON object, whatever the order of its members; the judge is Foundation's reader,
/// which throws for what is no JSON.
package func isSameJSON(_ text: some StringProtocol, _ other: some StringProtocol) throws -> Bool {
    let read = { (text: Data) in try JSONSerialization.jsonObject(with: text) as? NSDictionary }
    guard let object = try read(Data(text.utf8)) else { return false }
    return try object == read(Data(other.utf8))
}
