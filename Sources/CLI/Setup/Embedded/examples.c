#include "CSetupExamples.h"

#include <string.h>

// Files of contrib/examples that setup writes. In C, because the Swift compiler takes seconds for such a literal.

#pragma clang diagnostic ignored "-Wc23-extensions"

static const char social[] = {
#embed "../../../../contrib/examples/rules/social.yaml" suffix(, 0)
};

static const char privacy_first[] = {
#embed "../../../../contrib/examples/rules/privacy-first.yaml" suffix(, 0)
};

static const char wallet_and_signer[] = {
#embed "../../../../contrib/examples/rules/wallet-and-signer.yaml" suffix(, 0)
};

static const char pushover[] = {
#embed "../../../../contrib/examples/push-services/pushover.yaml" suffix(, 0)
};

static const char bark[] = {
#embed "../../../../contrib/examples/push-services/bark.yaml" suffix(, 0)
};

static const char slack[] = {
#embed "../../../../contrib/examples/push-services/slack.yaml" suffix(, 0)
};

static const char discord[] = {
#embed "../../../../contrib/examples/push-services/discord.yaml" suffix(, 0)
};

static const char matrix[] = {
#embed "../../../../contrib/examples/push-services/matrix.yaml" suffix(, 0)
};

static const char apprise[] = {
#embed "../../../../contrib/examples/push-services/apprise.yaml" suffix(, 0)
};

static const struct example {
    const char *name;
    const char *text;
} examples[] = {
    { "rules/social", social },
    { "rules/privacy-first", privacy_first },
    { "rules/wallet-and-signer", wallet_and_signer },
    { "push-services/pushover", pushover },
    { "push-services/bark", bark },
    { "push-services/slack", slack },
    { "push-services/discord", discord },
    { "push-services/matrix", matrix },
    { "push-services/apprise", apprise },
};

const char *setup_example(const char *name) {
    for (size_t index = 0; index < sizeof examples / sizeof *examples; index++) {
        if (strcmp(examples[index].name, name) == 0) return examples[index].text;
    }
    return NULL;
}
