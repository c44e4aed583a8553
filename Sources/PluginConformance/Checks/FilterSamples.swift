/// Events and lists as filters get them. They are not signed: filters only get verified events.
enum FilterSamples {
    /// What comes in every day.
    static let regular: [(what: String, inquiry: FilterInquiry)] = [
        ("a note", FilterInquiry(event: event(1, FilterInquiry.secret, #"[["p","\#(FilterInquiry.recipientKey)"]]"#))),
        (
            "a reply",
            FilterInquiry(event: event(1, "re", #"[["e","\#(id)","","root"],["e","\#(id)","","reply"],["t","tag"]]"#))
                .with {
                    $0.signal = Array("reply".utf8)
                    $0.relation = Array("reply".utf8)
                    $0.distance = 1
                }
        ),
        (
            "a gift wrap",
            FilterInquiry(event: event(1059, "AgF7f", #"[["p","\#(FilterInquiry.recipientKey)"]]"#)).with {
                $0.signal = Array("dm".utf8)
                $0.author = []
                $0.relation = []
            }
        ),
        (
            "a zap",
            FilterInquiry(event: event(9735, "", #"[["bolt11","lnbc210n1"],["description","{\"kind\":9734}"]]"#)).with {
                $0.signal = Array("zap".utf8)
                $0.zapMillisats = 21_000
                $0.distance = 2
            }
        ),
        (
            "a repost",
            FilterInquiry(event: event(6, #"{\"kind\":1,\"content\":\"x\"}"#, "[]")).with {
                $0.signal = Array("repost".utf8)
                $0.distance = 3
            }
        ),
        (
            "a contact list",
            FilterInquiry(event: event(3, "", "[" + Array(repeating: person, count: 500).joined(separator: ",") + "]"))
                .with {
                    $0.signal = Array("follow".utf8)
                    $0.distance = 4
                }
        ),
    ]

    /// A list of every sort of entry, of a kind that the filter wants.
    static func list(_ kind: UInt16) -> [UInt8] {
        Array(
            event(
                Int(kind),
                "AgF7f",
                #"[["p","\#(FilterInquiry.key)"],["e","\#(id)"],["t","tag"],["word","conformance"],["a","30000:x:y"]]"#
            ).utf8
        )
    }

    /// Lists that somebody may have signed, and what never comes from a router.
    static let hostileLists: [(what: String, text: [UInt8])] = [
        ("a list without tags", Array(#"{"kind":10000,"content":"x"}"#.utf8)),
        ("tags that are none", Array(event(10_000, "", #"[1,null,{},"p",[],[[]],[1,2],["p",1],["p"]]"#).utf8)),
        ("keys that are none", Array(event(10_000, "", #"[["p",""],["p","zz"],["e","\u0000"],["word",""]]"#).utf8)),
        (
            "10,000 words",
            Array(
                event(10_000, "", "[" + (0..<10_000).map { #"["word","w\#($0)"]"# }.joined(separator: ",") + "]").utf8
            )
        ),
    ]

    private static let id = String(repeating: "e1", count: 32)
    private static let person = #"["p","\#(FilterInquiry.key)","wss://relay.conformance.example","name"]"#

    private static func event(_ kind: Int, _ content: String, _ tags: String) -> String {
        let signature = String(repeating: "0", count: 128)
        return
            #"{"id":"\#(id)","pubkey":"\#(FilterInquiry.key)","created_at":1770000000,"kind":\#(kind),"tags":\#(tags),"#
            + #""content":"\#(content)","sig":"\#(signature)"}"#
    }
}
