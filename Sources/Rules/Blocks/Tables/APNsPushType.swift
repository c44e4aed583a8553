import YAMLReading

/// The values of `push-type` in an `apns` block, which are APNs' own.
enum APNsPushType: String, CaseIterable {
    case alert
    case background
    case location
    case voip
    case complication
    case fileProvider = "fileprovider"
    case mdm
    case liveActivity = "liveactivity"
    case pushToTalk = "pushtotalk"
    case widgets
    case controls

    /// The type of the push that a rule's block makes: as stated, or else as it follows from the other keys.
    init(of block: YAMLMapping?, hasTexts: Bool) {
        if let stated = block?["push-type"]?.literal.flatMap(APNsPushType.init) {
            self = stated
        } else if let block, block["event"] != nil || block["events"] != nil || block["content-state"] != nil {
            self = .liveActivity
        } else {
            let isVisible = hasTexts || ["alert", "badge", "sound"].contains { block?[$0] != nil }
            self = block?["content-available"]?.isOn == true && !isVisible ? .background : .alert
        }
    }
}
