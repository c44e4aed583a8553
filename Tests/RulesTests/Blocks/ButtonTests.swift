import Foundation
import PlatformTestSupport
import Push
import Storage
import Testing

@testable import Rules

/// Seed 002's rules for buttons, both kinds.
@Suite struct ButtonTests {
    private static let predefined =
        "com.klaviyo.category.acceptDecline, com.klaviyo.category.yesNo, com.klaviyo.category.confirmCancel, "
        + "com.klaviyo.category.viewDismiss"

    static let refused: [(keys: String, mistake: String)] = [
        ("actions: []", "rules[0].actions: expected one to four buttons"),
        (
            "actions: [\((1...5).map { "{ id: a\($0), label: b }" }.joined(separator: ", "))]",
            "rules[0].actions: expected one to four buttons"
        ),
        ("actions: [{ id: a }]", "rules[0].actions[0]: 'label' is missing: the text on the button"),
        (
            "actions: [{ label: a }]",
            "rules[0].actions[0]: 'id' is missing: the id that the app gets when the button is tapped"
        ),
        ("actions: [{ id: a, label: \"\" }]", "rules[0].actions[0].label: expected a text that is not empty"),
        (
            "actions: [{ id: a, label: b }, { id: a, label: c }]",
            "rules[0].actions[1].id: 'a' is also the id of another button"
        ),
        (
            "actions: [{ id: a, label: b, url: not a url }]",
            "rules[0].actions[0].url: " + AbsoluteURL.expectation
        ),
        ("url: /notes", "rules[0].url: " + AbsoluteURL.expectation),
        (
            "apns: { actions: { com.klaviyo.action.view: {} } }",
            "rules[0].apns.actions: 'category' is missing: the category of these buttons"
        ),
        (
            "apns: { category: unknown.category, actions: { a: {} } }",
            "rules[0].apns.category: the app has not registered 'unknown.category': expected \(predefined), "
                + "or one listed in the file's 'categories'"
        ),
        (
            "apns: { category: com.klaviyo.category.viewDismis }",
            "rules[0].apns.category: 'com.klaviyo.category.viewDismis' is none of \(predefined); "
                + "did you mean 'com.klaviyo.category.viewDismiss'?"
        ),
        (
            "apns: { category: \"{{event.kind}}\", actions: { a: {} } }",
            "rules[0].apns.category: expected a text without variables, because there is 'actions'"
        ),
        (
            "apns: { category: com.klaviyo.category.yesNo, actions: { com.klaviyo.action.yes: { url: here } } }",
            "rules[0].apns.actions.com.klaviyo.action.yes.url: " + AbsoluteURL.expectation
        ),
        (
            "apns: { category: com.klaviyo.category.yesNo, actions: { com.klaviyo.action.view: {} } }",
            "rules[0].apns.actions.com.klaviyo.action.view: 'com.klaviyo.category.yesNo' has no button "
                + "'com.klaviyo.action.view', only com.klaviyo.action.yes and com.klaviyo.action.no"
        ),
        (
            "apns: { category: com.klaviyo.category.acceptDecline, actions: { com.klaviyo.action.acept: {} } }",
            "rules[0].apns.actions.com.klaviyo.action.acept: 'com.klaviyo.category.acceptDecline' has no button "
                + "'com.klaviyo.action.acept', only com.klaviyo.action.accept and com.klaviyo.action.decline; "
                + "did you mean 'com.klaviyo.action.accept'?"
        ),
        (
            "apns: { category: unknown.category }",
            "rules[0].apns.category: the app has not registered 'unknown.category': expected \(predefined), "
                + "or one listed in the file's 'categories'"
        ),
        (
            "actions: [{ id: a, label: b, icon: SFSymbol.cart.fill }]",
            "rules[0].actions[0].icon: expected only the symbol's name, such as cart.fill, without 'SFSymbol.'"
        ),
        (
            "actions: [{ id: a, label: b, icon: \"SFSymbol.{{event.tag.i}}\" }]",
            "rules[0].actions[0].icon: expected only the symbol's name, such as cart.fill, without 'SFSymbol.'"
        ),
    ]

    @Test(arguments: refused)
    func errorsAreFoundWhenTheFileIsRead(_ keys: String, _ mistake: String) {
        #expect(BlockFixture.mistakes("title: t, \(keys)") == [mistake])
    }

    /// Seed 002: iOS cuts longer ones.
    @Test(
        arguments: [
            ("\(String(repeating: "x", count: 30))", nil), ("\(String(repeating: "👩‍💻", count: 30))", nil),
            ("\(String(repeating: "x", count: 31))", "actions[0].label: … this one has 31"),
            ("\"{{author.name}} \(String(repeating: "x", count: 40))\"", nil),
            ("\"\(String(repeating: "x", count: 31)) {{author.name}}\"", "actions[0].label: … this one has more"),
            ("{ default: ok, de: \(String(repeating: "x", count: 32)) }", "actions[0].label.de: … this one has 32"),
        ] as [(String, String?)]
    )
    func longLabelsAreWarnedAbout(_ label: String, _ warning: String?) throws {
        let keys = "title: t, actions: [{ id: a, label: \(label) }]"
        let warnings = try RuleBook(yaml: BlockFixture.yaml(keys), name: "r").warnings
        let words = " iOS cuts a button's label after about 30 characters;"
        #expect(warnings.map { $0.message.replacing(words, with: " …") } == (warning.map { ["rules[0].\($0)"] } ?? []))
        #expect(warnings.allSatisfy { $0.line == 4 && $0.column > 40 })
    }

    @Test func appsMayRegisterFurtherCategories() {
        let keys = "title: t, apns: { category: org.example.note, actions: { org.example.open: {} } }"
        #expect(BlockFixture.mistakes(keys).count == 1)
        #expect(BlockFixture.mistakes(keys, top: "categories: [org.example.note]") == [])
        let alone = "title: t, apns: { category: org.example.note }"
        #expect(BlockFixture.mistakes(alone).count == 1)
        #expect(BlockFixture.mistakes(alone, top: "categories: [org.example.note]") == [])
    }

    @Test(arguments: ["com.klaviyo.category.mine", "com.klaviyo.x"])
    func unknownKlaviyoCategoryIsAnError(_ category: String) {
        #expect(
            BlockFixture.mistakes("title: t, category: \(category)").map { $0.prefix(60) }
                == ["rules[0].category: '\(category)' is none of \(Self.predefined)".prefix(60)]
        )
        #expect(BlockFixture.mistakes("title: t, category: com.klaviyo.category.yesNo") == [])
        #expect(BlockFixture.mistakes("title: t, category: org.example.note") == [])
    }

    @Test(
        arguments: [
            (
                "[com.klaviyo.category.mine]",
                "categories[0]: com.klaviyo.… are the predefined ones: \(predefined)"
            ),
            ("[a, a]", "categories[1]: 'a' is listed twice"),
            ("[\"\"]", "categories[0]: expected a text that is not empty"),
            ("a", "categories: expected a list"),
        ]
    )
    func listOfCategoriesIsChecked(_ list: String, _ mistake: String) {
        #expect(BlockFixture.mistakes("title: t", top: "categories: \(list)") == [mistake])
    }

    /// "Predefined Categories (Fallback Format)": what the APNs plugin puts together is `aps.category` and
    /// `body.actions`.
    @Test func predefinedFormIsCarried() throws {
        let json = try BlockFixture.native(
            "ios",
            """
            title: t, apns: { alert: "Your order has shipped!", category: com.klaviyo.category.viewDismiss, sound: default, \
            badge: 1, _k: unique_notification_id, actions: { com.klaviyo.action.view: { url: "myapp://orders/12345" }, \
            com.klaviyo.action.dismiss: {} } }
            """
        )
        #expect(
            try jsonObject(json) == [
                "alert": "Your order has shipped!", "category": "com.klaviyo.category.viewDismiss",
                "sound": "default", "badge": 1, "_k": "unique_notification_id",
                "actions": [
                    "com.klaviyo.action.view": ["url": "myapp://orders/12345"],
                    "com.klaviyo.action.dismiss": [:] as [String: String],
                ],
            ]
        )
    }

    @Test func bothButtonFormsMayCoexist() throws {
        let notification = try BlockFixture.render(
            """
            title: "Order shipped!", url: "klaviyo://orders/123",
            actions: [{ id: com.klaviyo.action.view, label: Track Order, url: "klaviyo://orders/123/track" }, \
            { id: com.klaviyo.action.dismiss, label: Dismiss }],
            apns: { category: com.klaviyo.category.viewDismiss, mutable-content: 1, \
            actions: { com.klaviyo.action.view: { url: "klaviyo://orders/123" } } }
            """
        )
        #expect(notification.actions.map(\.id) == ["com.klaviyo.action.view", "com.klaviyo.action.dismiss"])
        #expect(
            notification.native["ios"]
                == #"{"category":"com.klaviyo.category.viewDismiss","mutable-content":1,"actions":{"com.klaviyo.action.view":{"url":"klaviyo://orders/123"}}}"#
        )
    }

    @Test(
        arguments: [
            ("https://example.com/products", true), ("myapp://home", true), ("nostr:note1abc", true), ("tel:110", true),
            ("not a url", false), ("myapp:", false), ("://x", false), ("1a://x", false), ("/a", false),
            ("https://exa mple.com", false), ("javascript", false), ("a\u{0}:b", false), ("", false),
        ]
    )
    func urlsNameTheirScheme(_ url: String, _ isOne: Bool) {
        #expect(AbsoluteURL.isOne(url) == isOne)
    }
}
