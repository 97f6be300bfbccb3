#!/bin/sh
# jobrunner, with the settings of this host for those who may read them, unless others are named.
if [ -z "${JOBRUNNER_ENV_FILE+named}" ] && [ -r /etc/jobrunner/jobrunner.env ]; then
    export JOBRUNNER_ENV_FILE=/etc/jobrunner/jobrunner.env
fi
exec /usr/lib/jobrunner/bin/jobrunner "$@"
