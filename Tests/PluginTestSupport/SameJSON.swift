import Foundation

/// Whether two strings are the same JSON object in any order of members. Parses with Foundation, and throws for invalid
/// JSON.
package func isSameJSON(_ text: some StringProtocol, _ other: some StringProtocol) throws -> Bool {
    let read = { (text: Data) in try JSONSerialization.jsonObject(with: text) as? NSDictionary }
    guard let object = try read(Data(text.utf8)) else { return false }
    return try object == read(Data(other.utf8))
}
