import Listeners
import Storage
import Testing

@testable import CarillonRouter
@testable import RouterConfiguration

@Suite struct ConfigurationOfSubscribePageTests {
    private static let apps = "apps: { default: { web: {} }, phones: { ios: {} }, empty: {} }"

    private func read(_ block: String) throws(Diagnostics) -> Configuration {
        try ConfigurationReader(name: "carillon.yaml", folder: "/etc/carillon", environment: { _ in nil })
            .read("\(block)\n\(Self.apps)\nidentity: { key_file: carillon.key }\nstore: { path: carillon.sqlite }")
    }

    @Test func subscribePageDefaultsToNone() throws {
        #expect(try read("").subscribePage == nil)
    }

    @Test func omittedKeyHasItsDefault() throws {
        #expect(try read("subscribe: {}").subscribePage == SubscribePage(app: "default"))
        #expect(SubscribePage(app: "default").topicServer == "https://ntfy.sh")
    }

    @Test func everyKeyIsRead() throws {
        let page = try read(
            "subscribe: { app: phones, topic_server: \"http://ntfy.example\", "
                + "client: \"https://app.example/{nevent}\" }"
        ).subscribePage
        #expect(page?.app == "phones" && page?.topicServer == "http://ntfy.example")
        #expect(page?.client == "https://app.example/{nevent}")
    }

    @Test func changeRequiresARestart() throws {
        let (old, new) = (try read(""), try read("subscribe: {}"))
        #expect(old.keysRequiringRestart(in: new) == ["subscribe"])
        #expect(new.keysRequiringRestart(in: new) == [])
    }

    @Test(arguments: [
        ("{ app: none }", "subscribe.app: expected the name of an app with a platform's block; 'none' has none"),
        ("{ app: empty }", "subscribe.app: expected the name of an app with a platform's block; 'empty' has none"),
        ("{ topic_server: ntfy.sh }", "subscribe.topic_server: expected an ntfy server, as in https://ntfy.sh"),
        ("{ topic_server: \"https:///x\" }", "subscribe.topic_server: expected an ntfy server, as in https://ntfy.sh"),
        (
            "{ client: \"https://app.example/\" }",
            "subscribe.client: expected a client's URL with {nevent}, {note}, {npub} or {id}"
        ),
        ("{ client: \"javascript:{id}\" }", "subscribe.client: expected a client's URL with"),
        ("{ port: 1 }", "subscribe: unknown key 'port'"),
    ])
    func errorsAreReported(block: String, message: String) {
        let error = #expect(throws: Diagnostics.self) { _ = try read("subscribe: \(block)") }
        #expect(error?.all.count == 1 && error?.description.contains(message) == true, "\(String(describing: error))")
    }
}
