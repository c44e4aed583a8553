import Foundation
import Testing

/// Whether two texts are the same JSON, whatever the order of their members; the judge is Foundation's reader.
func isSameJSON(_ text: some StringProtocol, _ other: some StringProtocol) throws -> Bool {
    let read = { (text: Data) in
        try #require(try JSONSerialization.jsonObject(with: text) as? NSDictionary)
    }
    return try read(Data(text.utf8)) == read(Data(other.utf8))
}
