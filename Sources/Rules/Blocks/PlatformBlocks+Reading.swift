import YAMLReading

extension PlatformBlocks {
    /// Reads the blocks of a rule; what is wrong in them is noted as mistakes.
    init(reading rule: YAMLMapping, categories: ButtonCategories = ButtonCategories()) {
        var blocks: [Block] = []
        for key in PlatformKey.all {
            guard let value = rule[key.name], let template = key.block(value) else { continue }
            blocks.append(Block(key: key.name, platform: key.platform, template: template))
        }
        for (platform, value) in rule["native"]?.mapping()?.members ?? [] where value.mapping() != nil {
            if let key = PlatformKey.all.first(where: { [$0.platform, $0.name].contains(platform) }) {
                // Unchecked, a mistake in it would cost each single notification.
                value.mistake("this is the rule's own '\(key.name)'; here stands what other plugins get")
            } else if let template = JSONTemplate(free: value) {
                blocks.append(Block(key: "native.\(platform)", platform: platform, template: template))
            }
        }
        if let apns = rule["apns"], apns.isMapping, let block = apns.mapping() {
            let checks = APNsBlockChecks(block, of: rule, categories: categories)
            checks.check()
            for index in blocks.indices where blocks[index].key == PlatformKey.apns.name {
                blocks[index].template = checks.bounding(blocks[index].template)
            }
        }
        if let fcm = rule["fcm"], fcm.isMapping, let block = fcm.mapping() { Self.check(fcm: block) }
        if let web = rule["webpush"], web.isMapping, let block = web.mapping() {
            Self.check(web: block, of: rule)
        }
        if let ntfy = rule["ntfy"], ntfy.isMapping, let block = ntfy.mapping() { NtfyBlockChecks.check(block) }
        LocalizationKeys(reading: rule).put(into: &blocks, of: rule)
        self.init(blocks)
    }

    private static func check(fcm block: YAMLMapping) {
        guard let value = block["notification"], value.isMapping, let notification = value.mapping() else { return }
        for text in ["title", "body"] where notification["\(text)LocKey"] == nil {
            notification["\(text)LocArgs"]?.mistake(
                "'\(text)LocKey' is missing: which of the app's texts these go into"
            )
        }
    }

    /// Browsers refuse to show what is silent and vibrates, and what makes itself heard again in place of nothing.
    private static func check(web block: YAMLMapping, of rule: YAMLMapping) {
        if block["renotify"]?.isOn == true, block["tag"] == nil, rule["collapse"] == nil {
            block["renotify"]?.mistake("'tag' is missing: in place of what this makes itself heard again")
        }
        if block["silent"]?.isOn == true { block["vibrate"]?.mistake("what is silent does not vibrate") }
    }
}
