import CarillonABI
import Foundation
import PluginTestSupport
import Testing

struct GoldenTests {
    @Test(arguments: Golden.all) func theSeedsPayloadIsReproduced(_ golden: Golden) throws {
        let fixture = try TransportFixture()
        let registration = SampleRegistration(token: TransportFixture.deviceToken, fields: golden.fields)
        #expect(try fixture.deliver(golden.notification, to: registration) == .CARILLON_OK)
        let request = try #require(fixture.host.requests.first, "\(fixture.host.outcomes)")
        let made = try JSONSerialization.jsonObject(with: Data(request.body))
        #expect(try Golden.canonical(made) == golden.payload)
        for (name, value) in golden.headers {
            #expect(request.headers[name] == value, "\(name)")
        }
    }

    @Test(arguments: [("seed-000", 9), ("seed-002", 15), ("seed-003", 26)])
    func everyGoldenFileIsReadCompletely(_ name: String, _ count: Int) throws {
        #expect(try Golden.read(name).count == count)
    }

    @Test func comparisonDistinguishesTrueFromOne() throws {
        let read = { (text: String) in try Golden.canonical(JSONSerialization.jsonObject(with: Data(text.utf8))) }
        #expect(try read(#"{"a":true}"#) != read(#"{"a":1}"#))
        #expect(try read(#"{"a":1,"b":"/"}"#) == read(#"{ "b": "\/", "a": 1 }"#))
    }
}

/// A payload copied by hand from its specification, and the notification that must produce it.
///
/// Each file under `Goldens` is a list of them. A member of `notification` that is an object or a list is passed
/// as the JSON text that plugins get. A token in `registration` is abbreviated and repeated to a token's length.
struct Golden: CustomTestStringConvertible, Sendable {
    struct Unreadable: Error {}

    let source: String
    let notification: SampleNotification
    let fields: [(name: String, value: String)]
    let headers: [String: String]
    /// Canonical JSON.
    let payload: String

    var testDescription: String { source }

    static let all: [Golden] = ["seed-000", "seed-002", "seed-003"].flatMap { name in
        (try? read(name)) ?? []
    }

    static func read(_ name: String) throws -> [Golden] {
        guard let url = Bundle.module.url(forResource: name, withExtension: "json", subdirectory: "Goldens") else {
            throw Unreadable()
        }
        let list = try JSONSerialization.jsonObject(with: Data(contentsOf: url))
        guard let list = list as? [[String: Any]] else { throw Unreadable() }
        return try list.map(Golden.init)
    }

    private init(_ object: [String: Any]) throws {
        guard let source = object["source"] as? String, let payload = object["payload"],
            var notification = object["notification"] as? [String: Any]
        else { throw Unreadable() }
        self.source = source
        self.payload = try Golden.canonical(payload)
        headers = object["headers"] as? [String: String] ?? [:]
        let registration = object["registration"] as? [String: String] ?? [:]
        fields = registration.map { ($0.key, String(repeating: $0.value, count: 40)) }
        var sample = SampleNotification()
        let text = { (name: String) in notification.removeValue(forKey: name) as? String }
        sample.id = text("id") ?? sample.id
        sample.title = text("title") ?? ""
        sample.subtitle = text("subtitle") ?? ""
        sample.body = text("body") ?? ""
        sample.category = text("category") ?? ""
        sample.thread = text("thread") ?? ""
        sample.url = text("url") ?? ""
        sample.data = try notification.removeValue(forKey: "data").map(Golden.canonical) ?? ""
        sample.native = try notification.removeValue(forKey: "native").map(Golden.canonical) ?? ""
        let actions = notification.removeValue(forKey: "actions") as? [[String: String]] ?? []
        sample.actions = actions.map {
            .init(id: $0["id"] ?? "", label: $0["label"] ?? "", url: $0["url"] ?? "", icon: $0["icon"] ?? "")
        }
        guard notification.isEmpty else { throw Unreadable() }
        self.notification = sample
    }

    /// Returns a canonical string for each JSON value, in which `true` and 1 differ.
    static func canonical(_ value: Any) throws -> String {
        let text = try JSONSerialization.data(withJSONObject: value, options: [.sortedKeys, .withoutEscapingSlashes])
        return String(decoding: text, as: UTF8.self)
    }
}
