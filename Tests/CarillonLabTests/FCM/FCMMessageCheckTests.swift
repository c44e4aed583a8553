import Testing

@testable import CarillonLab

struct FCMMessageCheckTests {
    private static let token = FCMBench.token

    /// Returns the error of a message with the additional `members`; nil if the message is valid.
    private func refusal(_ members: String, target: String = #""token":"\#(token)""#) -> FCMError? {
        let separator = target.isEmpty || members.isEmpty ? "" : ","
        return refusal(body: #"{"message":{\#(target)\#(separator)\#(members)}}"#)
    }

    private func refusal(body: String) -> FCMError? {
        let request = LabRequest(method: "POST", uri: "", headers: [], body: Array(body.utf8))
        do throws(FCMError) {
            _ = try FCMMessageCheck.check(request)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        "", #""data":{}"#, #""data":{"a":"b"},"notification":{"title":"t","body":"b","image":"https://i"}"#,
        #""android":{"priority":"HIGH","ttl":"3.5s","collapseKey":"k","restrictedPackageName":"p","directBootOk":true}"#,
        #""android":{"collapse_key":"k","ttl":"2419200s","fcm_options":{"analytics_label":"a-b.c~%"}}"#,
        ##""android":{"notification":{"titleLocKey":"K","titleLocArgs":["a","b"],"color":"#a0B1c2","sticky":false}}"##,
        #""android":{"notification":{"eventTime":"2026-02-02T02:40:00.5Z","vibrateTimings":["0.3s"],"visibility":"SECRET"}}"#,
        #""android":{"notification":{"notificationCount":3,"notificationPriority":"PRIORITY_MAX","proxy":"DENY"}}"#,
        #""android":{"notification":{"lightSettings":{"color":{"red":1,"green":0.5},"lightOnDuration":"1s"}}}"#,
        #""webpush":{"headers":{"TTL":"60"},"notification":{"any":[1]},"fcmOptions":{"link":"https://e.com"}}"#,
        #""apns":{"headers":{"apns-priority":"5"},"payload":{"aps":{"content-available":1}}},"notification":null"#,
    ])
    func documentedMessageIsAccepted(_ members: String) {
        #expect(refusal(members) == nil)
    }

    @Test(arguments: [
        (#""body":"b""#, "message"), (#""data":{"n":7}"#, "message.data[0].value"), (#""data":[]"#, "message.data"),
        (#""data":{"n":{}}"#, "message.data[0].value"), (#""data":{"n":true}"#, "message.data[0].value"),
        (#""notification":{"subtitle":"s"}"#, "message.notification"),
        (#""notification":{"title":7}"#, "message.notification.title"), (#""android":7"#, "message.android"),
        (#""android":{"style":"data"}"#, "message.android"),
        (#""android":{"priority":"high"}"#, "message.android.priority"),
        (#""android":{"ttl":60}"#, "message.android.ttl"), (#""android":{"ttl":"60"}"#, "message.android.ttl"),
        (#""android":{"ttl":"-1s"}"#, "message.android.ttl"), (#""android":{"ttl":"1m"}"#, "message.android.ttl"),
        (#""android":{"directBootOk":"true"}"#, "message.android.directBootOk"),
        (#""android":{"notification":{"titleLocArgs":"a"}}"#, "message.android.notification.titleLocArgs"),
        (#""android":{"notification":{"titleLocArgs":["a",1]}}"#, "message.android.notification.titleLocArgs[1]"),
        (#""android":{"notification":{"channel":"c"}}"#, "message.android.notification"),
        (#""android":{"notification":{"eventTime":"tomorrow"}}"#, "message.android.notification.eventTime"),
        (#""android":{"notification":{"visibility":"private"}}"#, "message.android.notification.visibility"),
        (#""android":{"notification":{"notificationCount":"3"}}"#, "message.android.notification.notificationCount"),
    ])
    func unknownJSONFieldsAreRefused(_ members: String, _ field: String) {
        let refusal = refusal(members)
        #expect(refusal?.http == 400 && refusal?.code == nil && refusal?.fields.first == field)
        #expect(refusal?.message.hasPrefix("Invalid ") == true)
    }

    @Test(arguments: [
        (#""data":{"from":"a"}"#, "message.data"), (#""data":{"message_type":"a"}"#, "message.data"),
        (#""data":{"google.x":"a"}"#, "message.data"), (#""data":{"gcm":"a"}"#, "message.data"),
        (#""data":{"collapse_key":"a"}"#, "message.data"),
        (#""android":{"data":{"gcm.n":"a"}}"#, "message.android.data"),
        (#""android":{"ttl":"2419201s"}"#, "message.android.ttl"),
        (#""android":{"notification":{"color":"red"}}"#, "message.android.notification.color"),
        (#""android":{"notification":{"notificationCount":-1}}"#, "message.android.notification.notificationCount"),
        (#""fcmOptions":{"analyticsLabel":"a b"}"#, "message.fcmOptions.analyticsLabel"),
        (#""webpush":{"fcmOptions":{"link":"http://e.com"}}"#, "message.webpush.fcmOptions.link"),
    ])
    func invalidValuesAreRefused(_ members: String, _ field: String) {
        let refusal = refusal(members)
        #expect(refusal?.http == 400 && refusal?.code == .invalidArgument && refusal?.fields.first == field)
    }

    @Test func messageRequiresExactlyOneTarget() {
        #expect(refusal("", target: #""topic":"news""#) == nil)
        #expect(refusal("", target: #""condition":"'a' in topics""#) == nil)
        #expect(refusal("", target: "")?.code == .invalidArgument)
        #expect(refusal("", target: #""token":null"#)?.code == .invalidArgument)
        #expect(refusal(#""topic":"news""#)?.fields.first == "message")
        #expect(refusal(body: #"{"validateOnly":true}"#)?.fields.first == "message")
    }

    @Test(arguments: ["", "[]", "7", "{", #"{"message":7}"#, #"{"message":{},"more":1}"#, "\u{FF}"])
    func requestRequiresAMessage(_ body: String) {
        #expect(refusal(body: body)?.http == 400)
    }

    @Test func countsNamesAndValues() {
        // "a" and "title" are names; é has two bytes, and an escape sequence does not count as a name.
        let fits = String(repeating: "é", count: 2_044) + #"\n"#
        #expect(refusal(#""data":{"a":"\#(fits)"},"notification":{"title":"t"}"#) == nil)
        let tooLarge = refusal(#""data":{"ab":"\#(fits)"},"notification":{"title":"t"}"#)
        #expect(tooLarge?.code == .invalidArgument)
        #expect(tooLarge?.message == "Android message is too big")
        #expect(tooLarge?.fields.isEmpty == true)
        #expect(refusal(#""android":{"notification":{"ticker":"\#(String(repeating: "t", count: 4_090))"}}"#) == nil)
        #expect(refusal(#""android":{"notification":{"ticker":"\#(String(repeating: "t", count: 4_091))"}}"#) != nil)
    }
}
