import Push
import Testing

@testable import Rules

/// Rules whose whole message the push service would reject.
@Suite struct RefusedByServiceTests {
    @Test(arguments: [
        ("ntfy: { actions: [{ label: a }] }", "ntfy.actions[0]: 'action' is missing: view, http or broadcast"),
        (
            "ntfy: { actions: [{ action: view, url: \"https://a.example\" }] }",
            "ntfy.actions[0]: 'label' is missing: the text on the button"
        ),
        ("ntfy: { actions: [{ action: view, label: a }] }", "ntfy.actions[0]: 'url' is missing: the URL to open"),
        ("ntfy: { actions: [{ action: http, label: a }] }", "ntfy.actions[0]: 'url' is missing: the URL to request"),
        (
            "ntfy: { actions: [{ action: http, label: a, url: \"https://a.example\", method: GET, body: b }] }",
            "ntfy.actions[0].body: GET requests have no body"
        ),
        (
            "ntfy: { actions: [{ action: broadcast, label: a, url: \"https://a.example\" }] }",
            "ntfy.actions[0].url: not allowed in a broadcast"
        ),
        ("ntfy: { delay: 30m, cache: no }", "ntfy.cache: a 'delay' requires caching: remove this or 'delay'"),
        ("ntfy: { delay: 30m, email: a@b.example }", "ntfy.email: ntfy does not allow this together with 'delay'"),
        (
            "webpush: { renotify: true }",
            "webpush.renotify: 'tag' is missing: add the tag of the notification to replace"
        ),
        ("url: \"notes/{{event.id}}\"", "url: " + AbsoluteURL.expectation),
        (
            "url: \"app://find?q=from {{ author.npub }}\"",
            "url: expected a URL without spaces; write %20 for a space"
        ),
        ("actions: [{ id: a, label: b, url: \"/{{event.id}}\" }]", "actions[0].url: " + AbsoluteURL.expectation),
    ])
    func valueRefusedByTheServiceIsAnError(_ keys: String, _ mistake: String) {
        #expect(BlockFixture.mistakes(keys) == ["rules[0]." + mistake])
    }

    @Test(arguments: [
        "ntfy: { actions: [{ action: broadcast, label: a, extras: { b: c } }], delay: 30m }",
        "webpush: { renotify: true, tag: a }", "collapse: a, webpush: { renotify: true }",
        "url: \"{{#referenced}}nostr:{{note(id)}}{{/referenced}}\"", "url: \"app://{{ event.id }}\"",
    ])
    func acceptedKeysHaveNoErrors(_ keys: String) {
        #expect(BlockFixture.mistakes(keys).isEmpty)
    }

    /// Strangers write the tags.
    @Test func valueMadeInvalidByVariablesIsOmitted() throws {
        func ntfy(_ image: String) throws -> String {
            let input = Fixture.input(kind: 7, tags: [["image", image]])
            return try BlockFixture.native("ntfy", "ntfy: { priority: 4, icon: \"{{event.tag.image}}\" }", input)
        }
        #expect(try ntfy("https://a.example/b.png") == #"{"priority":4,"icon":"https://a.example/b.png"}"#)
        #expect(try ntfy("nostr:note1") == #"{"priority":4}"#)
        #expect(try ntfy("") == #"{"priority":4}"#)
        let fcm = "fcm: { notification: { channelId: c, color: \"{{event.tag.color}}\" }, style: notification }"
        let red = try BlockFixture.native("android", fcm, Fixture.input(kind: 7, tags: [["color", "red"]]))
        #expect(red == #"{"notification":{"channelId":"c"},"style":"notification"}"#)
    }

    @Test func largeNumbersAreUnchanged() throws {
        let input = Fixture.input(kind: 7, tags: [["n", "9007199254740993"]])
        let json = try BlockFixture.native("unifiedpush", "unifiedpush: { n: !!int \"{{event.tag.n}}\" }", input)
        #expect(json == #"{"n":9007199254740993}"#)
    }

    @Test func urlWithOnlyASchemeIsRefused() throws {
        let keys =
            "url: \"nostr:{{note(referenced.id)}}\", actions: [{ id: a, label: b, url: \"app://{{referenced.id}}\" }]"
        let notification = try BlockFixture.render(keys)
        #expect(notification.url.isEmpty)
        var input = Fixture.input(kind: 7)
        input.referenced = ReferencedEvent(id: Fixture.referencedID)
        #expect(try BlockFixture.render(keys, input).url.hasPrefix("nostr:note1"))
    }
}
