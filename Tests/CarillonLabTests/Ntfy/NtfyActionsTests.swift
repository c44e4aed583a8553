import Testing

@testable import CarillonLab

struct NtfyActionsTests {
    /// The first seven are in ntfy's documentation and tests.
    private static let good: [(String, String)] = [
        (
            "view, Open portal, https://home.nest.com/, clear=true",
            #"[{"action":"view","label":"Open portal","url":"https://home.nest.com/","clear":true}]"#
        ),
        (
            "http, Close door, https://api.mygarage.lan/, method=PUT, headers.Authorization=Bearer zAzsx1sk.., body={\"action\": \"close\"}",
            #"[{"action":"http","label":"Close door","url":"https://api.mygarage.lan/","method":"PUT","headers":{"Authorization":"Bearer zAzsx1sk.."},"body":"{\"action\": \"close\"}"}]"#
        ),
        (
            "broadcast, Take picture, extras.cmd=pic, extras.camera=front",
            #"[{"action":"broadcast","label":"Take picture","extras":{"cmd":"pic","camera":"front"}}]"#
        ),
        (
            "action=http, label=Turn down, url=https://api.nest.com/, body=\"temperature=65; now, please\"",
            #"[{"action":"http","label":"Turn down","url":"https://api.nest.com/","body":"temperature=65; now, please"}]"#
        ),
        (
            "view, 'Look ma, commas; and \\'quotes\\'', https://x.org",
            #"[{"action":"view","label":"Look ma, commas; and 'quotes'","url":"https://x.org"}]"#
        ),
        (
            "view, A, https://a.org; view, B, https://b.org;",
            #"[{"action":"view","label":"A","url":"https://a.org"},{"action":"view","label":"B","url":"https://b.org"}]"#
        ),
        (#"[{"action":"broadcast","label":"Do"}]"#, #"[{"action":"broadcast","label":"Do"}]"#),
        (
            "broadcast, Do, intent=com.example.AN_INTENT",
            #"[{"action":"broadcast","label":"Do","intent":"com.example.AN_INTENT"}]"#
        ),
    ]

    @Test(arguments: good) func readsBothForms(_ text: String, _ json: String) throws {
        #expect(try JSONValue.array(NtfyActions.parse(text)) == JSONValue(parsing: Array(json.utf8)))
    }

    @Test(arguments: [
        ("view, A, https://a; view, B, https://b; view, C, https://c; view, D, https://d", "only 3"),
        ("dance, A", "'action' cannot be"), ("view", "'label'"), ("view, A", "'url'"),
        ("http, A, https://a, method=GET, body=x", "'body' cannot"), ("view, A, https://a, what", "unknown"),
        ("view, A, https://a, colour=red", "key 'colour' unknown"), ("view, \"A", "quote started"),
        ("[{]", "JSON"), ("[7]", "JSON"), ("[{\"action\":\"view\",\"label\":\"A\"}]", "'url'"),
    ])
    func invalidActionIsExplained(_ text: String, _ words: String) {
        let error = #expect(throws: NtfyError.self) { try NtfyActions.parse(text) }
        #expect(error?.code == 40018)
        #expect(error?.error.contains(words) == true, "\(error?.error ?? "")")
    }

    @Test(arguments: [
        ("plain", "plain"), ("=?UTF-8?B?w6k=?=", "é"), ("a =?utf-8?q?b=C3=A9_c?= d", "a bé c d"),
        ("=?UTF-8?B?w6k=?= =?UTF-8?B?w6k=?=", "éé"), ("=?ISO-8859-1?Q?=E9?=", "=?ISO-8859-1?Q?=E9?="),
    ])
    func wordsOfHeadersAreDecoded(_ text: String, _ decoded: String) {
        #expect(RFC2047.decode(text) == decoded)
    }
}
